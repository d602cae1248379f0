// How search results are ranked: answers and guides before the reference, records of decisions and changes last.
var Scorer = {
  score: ([docname, title, anchor, descr, score, filename, kind]) => {
    if (docname === "docs/questions") return score + 12;
    if (docname.startsWith("docs/decisions/") || docname === "CHANGELOG") return score - 12;
    if (docname.startsWith("benchmarks/") || docname === "docs/architecture") return score - 6;
    return docname.startsWith("docs/") ? score + 6 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
