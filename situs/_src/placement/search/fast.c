/* The inner loops of the search for a placement: `pure.py` in C, line by line.
 *
 * The two give the same figures for the same seed, so every sum stands in the same order in both, the compiler is told
 * to contract nothing (-ffp-contract=off), and chance comes from the same generator. `flat.py` says what the arrays
 * are; `pure.py` says what the functions do.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define STEP 0
#define LATENCY 1
#define MAX_LOAD 2
#define LOOK_EVERY 64 /* moves between looks at the flag that stops a run */

typedef struct {
    int32_t nodes, devices, tensors, blocks, resources, orders, lanes, check_memory;
    const double *time;                            /* [node, device]; infinite without a kernel */
    const double *tail;                            /* [node]: the least that comes after it */
    const double *weights, *workspace;             /* [node] */
    const double *bytes, *hop;                     /* [tensor]; hop < 0: by the link */
    const double *price_in, *price_out;            /* [tensor, device]: of the published models */
    const double *link_latency, *link_per_byte;    /* [device, device] */
    const double *limit;                           /* [device] */
    const double *size;                            /* [node]: what it holds in the published models */
    const int32_t *in_start, *in_tensor;           /* what a node takes */
    const int32_t *out_start, *out_tensor;         /* what it makes */
    const int32_t *producer;                       /* [tensor] */
    const int32_t *consumer_start, *consumer;      /* who takes a tensor */
    const int32_t *relay;                          /* [device, device]; -1: there is a link */
    const int32_t *resource_start, *resource;      /* [device, device]: what a link occupies */
    const int32_t *lane_start;                     /* [device, 2]: the first, and the one after the last */
    const int32_t *is_host, *is_relay;             /* [device] */
    const int32_t *block_start, *block_node;       /* nodes that move together */
    const int32_t *candidate_start, *candidate;    /* devices that a block may be on */
    const int32_t *near_start, *near;              /* blocks that exchange tensors with a block */
    const int32_t *order, *position;               /* [order, block]: blocks in some order, and back */
    /* The graph of blocks, for the largest load. */
    int32_t bundles, orderer;                      /* the orderer: a lane or, after these, a resource; -1: none */
    const double *block_time, *block_size;         /* [block, device], [block] */
    const double *bundle_in, *bundle_out;          /* [bundle, device] */
    const int32_t *bundle_home;                    /* [bundle] */
    const int32_t *makes_start, *makes;            /* bundles that a block makes */
    const int32_t *takes_start, *takes;            /* bundles that a block takes */
    const double *ordering;                        /* [node, device] */
    const int32_t *recording;                      /* [device]; -1: none */
    const int32_t *recordable;                     /* [node] */
} Flat;

typedef struct {
    int64_t moves;        /* how many are tried */
    double warm, cold;    /* temperature at the start and at the end, as shares of the value */
    double soft, hard;    /* weight of bytes too many at the start and at the end */
    uint64_t seed;
    int32_t objective, doublings; /* the norm of loads: 3 * 2^doublings */
} Schedule;

typedef struct {
    double value, excess; /* of the best placement */
    int64_t tried;
} Found;

/* ---- chance ---- */

static uint64_t next(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}
static int32_t below(uint64_t *state, int32_t n) { return (int32_t)(((next(state) >> 32) * (uint64_t)n) >> 32); }
static double unit(uint64_t *state) { return (double)(next(state) >> 11) * (1.0 / 9007199254740992.0); }

/* ---- one step: in-order streams, links, memory ----
 *
 * A move changes nothing of what is dispatched before the first node that it concerns. So the times of the placement
 * that was taken last are kept, with the state of lanes and resources at every `EVERY`th node, and a trial begins at
 * the last of these before that node. Its times are kept apart: one that is refused leaves nothing to be undone.
 *
 *     taken   finish, arrival, by    |---------*---------*---------*---->
 *     trial   new_*, stamp                     from *----x--> ends as soon as it is worse than is allowed
 */

#define EVERY 16
#define NOBODY INT32_MAX

typedef struct {
    double *finish, *arrival, *mark, *end;                 /* of what was taken; [mark, engine], [mark] */
    int32_t *by, *log, *log_start;                         /* the node that a tensor was sent for; in order; by node */
    double *new_finish, *new_arrival, *new_mark, *new_end; /* of the trial */
    int32_t *stamp, *new_log, *new_log_start;
    double *engine, *spare; /* lanes, then resources: when each is free; a negative number of a resource is a lane */
    int32_t turn, from, count, new_count;
    int32_t orders, new_orders; /* whether calls are ordered one by one */
    double *held, *peak; /* memory */
    int32_t *left, *pending;
    uint8_t *holds, *sent;
} StepRoom;

static void *room(size_t count, size_t each) { return malloc(count * each + 8); }

static int make_step_room(const Flat *p, StepRoom *w) {
    size_t tk = (size_t)p->tensors * p->devices, n = p->nodes, engines = (size_t)p->lanes + p->resources;
    size_t marks = n / EVERY + 1;
    w->finish = room(n, 8), w->new_finish = room(n, 8), w->arrival = room(tk, 8), w->new_arrival = room(tk, 8);
    w->mark = calloc(marks * engines + 1, 8), w->new_mark = room(marks * engines, 8);
    w->end = calloc(marks + 1, 8), w->new_end = room(marks, 8);
    w->by = room(tk, 4), w->log = room(tk, 4), w->new_log = room(tk, 4), w->stamp = calloc(tk + 1, 4);
    w->log_start = calloc(n + 1, 4), w->new_log_start = room(n, 4);
    w->engine = room(engines, 8), w->spare = room(engines, 8);
    w->held = room(p->devices, 8), w->peak = room(p->devices, 8), w->left = room(tk, 4);
    w->pending = room(p->tensors, 4), w->holds = room(tk, 1), w->sent = room(tk, 1);
    w->turn = w->from = w->count = w->new_count = w->orders = w->new_orders = 0;
    if (w->by)
        for (size_t i = 0; i < tk; i++) w->by[i] = NOBODY;
    return w->finish && w->new_finish && w->arrival && w->new_arrival && w->mark && w->new_mark && w->end &&
           w->new_end && w->by && w->log && w->new_log && w->stamp && w->log_start && w->new_log_start && w->engine &&
           w->spare && w->held && w->peak && w->left && w->pending && w->holds && w->sent;
}

static void free_step_room(StepRoom *w) {
    free(w->finish), free(w->new_finish), free(w->arrival), free(w->new_arrival), free(w->mark), free(w->new_mark);
    free(w->end), free(w->new_end), free(w->by), free(w->log), free(w->new_log), free(w->stamp), free(w->log_start);
    free(w->new_log_start), free(w->engine), free(w->spare), free(w->held), free(w->peak), free(w->left);
    free(w->pending), free(w->holds), free(w->sent);
}

/* Begins a trial at the last mark that is not after a node. */
static void begin_trial(const Flat *p, StepRoom *w, int32_t first) {
    size_t engines = (size_t)p->lanes + p->resources;
    if (first >= p->nodes) first = p->nodes - 1;
    w->from = first / EVERY * EVERY;
    w->turn++;
    w->new_count = w->log_start[w->from];
    memcpy(w->engine, w->mark + w->from / EVERY * engines, engines * 8);
}

static double finish_of(const StepRoom *w, int32_t u) { return u < w->from ? w->finish[u] : w->new_finish[u]; }

/* When a tensor is on a device that did not make it; sends it if it has not been. A look at what would be, which is
 * not a run, occupies `engine` and leaves nothing else behind. */
static double bring(const Flat *p, StepRoom *w, int32_t t, int32_t home, int32_t d, double made, double *engine,
                    int is_run) {
    int32_t k = p->devices, relay = p->relay[home * k + d], link;
    size_t here = (size_t)t * k + d;
    double end, *resource = engine + p->lanes;
    if (w->stamp[here] == w->turn) return w->new_arrival[here];
    if (w->by[here] < w->from) return w->arrival[here];
    if (relay >= 0) {
        made = bring(p, w, t, home, relay, made, engine, is_run);
        home = relay;
    }
    link = home * k + d;
    for (int32_t i = p->resource_start[link]; i < p->resource_start[link + 1]; i++)
        if (resource[p->resource[i]] > made) made = resource[p->resource[i]];
    end = made + (p->hop[t] >= 0 ? p->hop[t] : p->link_latency[link] + p->bytes[t] * p->link_per_byte[link]);
    for (int32_t i = p->resource_start[link]; i < p->resource_start[link + 1]; i++) resource[p->resource[i]] = end;
    if (is_run) w->stamp[here] = w->turn, w->new_arrival[here] = end, w->new_log[w->new_count++] = (int32_t)here;
    return end;
}

static int32_t best_lane(const Flat *p, const double *engine, int32_t d) {
    int32_t lane = p->lane_start[2 * d];
    for (int32_t i = lane + 1; i < p->lane_start[2 * d + 1]; i++)
        if (engine[i] < engine[lane]) lane = i;
    return lane;
}

static double run_node(const Flat *p, StepRoom *w, const int32_t *dev, int32_t v) {
    int32_t d = dev[v], lane;
    double ready = 0.0;
    for (int32_t i = p->in_start[v]; i < p->in_start[v + 1]; i++) {
        int32_t t = p->in_tensor[i], u = p->producer[t];
        double made = finish_of(w, u), at = dev[u] == d ? made : bring(p, w, t, dev[u], d, made, w->engine, 1);
        if (at > ready) ready = at;
    }
    if (w->new_orders && p->ordering[(size_t)v * p->devices + d] > 0) {
        w->engine[p->orderer] += p->ordering[(size_t)v * p->devices + d];
        if (w->engine[p->orderer] > ready) ready = w->engine[p->orderer];
    }
    lane = best_lane(p, w->engine, d);
    if (w->engine[lane] > ready) ready = w->engine[lane];
    return w->new_finish[v] = w->engine[lane] = ready + p->time[(size_t)v * p->devices + d];
}

/* Whether calls are ordered one by one: not if all nodes that could be recorded are on devices of one recording. */
static int is_ordered(const Flat *p, const int32_t *dev) {
    int32_t found = -2;
    if (p->orderer < 0) return 0;
    for (int32_t v = 0; v < p->nodes; v++) {
        int32_t own = p->recording[dev[v]];
        if (!p->recordable[v]) continue;
        if (own < 0 || (found >= 0 && own != found)) return 1;
        found = own;
    }
    return found < 0;
}

/* The time of a step that differs from the one taken last from a node on; infinite if it is above `enough`. */
static double step_time(const Flat *p, const int32_t *dev, StepRoom *w, int32_t first, double enough) {
    size_t engines = (size_t)p->lanes + p->resources;
    double end;
    w->new_orders = is_ordered(p, dev);
    if (w->new_orders != w->orders) first = 0; /* then all times are others */
    begin_trial(p, w, first);
    end = w->end[w->from / EVERY];
    for (int32_t v = w->from; v < p->nodes; v++) {
        if (v % EVERY == 0) {
            memcpy(w->new_mark + v / EVERY * engines, w->engine, engines * 8);
            w->new_end[v / EVERY] = end;
        }
        w->new_log_start[v] = w->new_count;
        double done = run_node(p, w, dev, v);
        if (done > end) end = done;
        if (done + p->tail[v] > enough) return INFINITY;
    }
    return end;
}

/* Makes the last trial, which must have come to its end, the one that was taken. */
static void take_trial(const Flat *p, StepRoom *w) {
    size_t engines = (size_t)p->lanes + p->resources, first = w->from / EVERY, marks = (p->nodes - 1) / EVERY + 1;
    int32_t from = w->from;
    w->orders = w->new_orders;
    memcpy(w->finish + from, w->new_finish + from, (size_t)(p->nodes - from) * 8);
    memcpy(w->mark + first * engines, w->new_mark + first * engines, (marks - first) * engines * 8);
    memcpy(w->end + first, w->new_end + first, (marks - first) * 8);
    for (int32_t i = w->log_start[from]; i < w->count; i++) w->by[w->log[i]] = NOBODY;
    memcpy(w->log_start + from, w->new_log_start + from, (size_t)(p->nodes - from) * 4);
    for (int32_t v = from; v < p->nodes; v++) {
        int32_t last = v + 1 < p->nodes ? w->log_start[v + 1] : w->new_count;
        for (int32_t i = w->log_start[v]; i < last; i++) {
            int32_t here = w->log[i] = w->new_log[i];
            w->by[here] = v, w->arrival[here] = w->new_arrival[here];
        }
    }
    w->count = w->new_count;
}

/* Memory does not depend on time, only on the order of dispatch. */

static void arrive(const Flat *p, StepRoom *w, int32_t t, int32_t home, int32_t d) {
    int32_t k = p->devices, relay = p->relay[home * k + d];
    size_t here = (size_t)t * k + d;
    if (w->sent[here]) return;
    if (relay >= 0) arrive(p, w, t, home, relay);
    w->sent[here] = w->holds[here] = 1;
    w->held[d] += p->bytes[t];
    if (w->held[d] > w->peak[d]) w->peak[d] = w->held[d];
    if (w->left[here]) w->pending[t]--;
}

static void release(const Flat *p, StepRoom *w, int32_t t, int32_t home) {
    int32_t k = p->devices;
    for (int32_t d = 0; d < k; d++) {
        size_t here = (size_t)t * k + d;
        int32_t sends = w->pending[t] > 0 && (d == home || p->is_relay[d]);
        if (w->holds[here] && !w->left[here] && !sends) {
            w->holds[here] = 0;
            w->held[d] -= p->bytes[t];
        }
    }
}

static void begin_memory(const Flat *p, const int32_t *dev, StepRoom *w) {
    int32_t k = p->devices;
    size_t tk = (size_t)p->tensors * k;
    for (int32_t d = 0; d < k; d++) w->held[d] = 0.0;
    for (int32_t v = 0; v < p->nodes; v++) w->held[dev[v]] += p->weights[v];
    for (int32_t d = 0; d < k; d++) w->peak[d] = w->held[d];
    memset(w->left, 0, tk * 4), memset(w->holds, 0, tk), memset(w->sent, 0, tk);
    for (int32_t t = 0; t < p->tensors; t++) {
        int32_t away = 0, home = dev[p->producer[t]], *left = w->left + (size_t)t * k;
        for (int32_t i = p->consumer_start[t]; i < p->consumer_start[t + 1]; i++) left[dev[p->consumer[i]]]++;
        for (int32_t d = 0; d < k; d++) away += d != home && left[d];
        w->pending[t] = away;
    }
}

static void account(const Flat *p, const int32_t *dev, StepRoom *w, int32_t v) {
    int32_t k = p->devices, d = dev[v];
    double kept = 0.0;
    for (int32_t i = p->in_start[v]; i < p->in_start[v + 1]; i++) {
        int32_t t = p->in_tensor[i], home = dev[p->producer[t]];
        if (home != d) arrive(p, w, t, home, d);
    }
    for (int32_t i = p->out_start[v]; i < p->out_start[v + 1]; i++) {
        kept += p->bytes[p->out_tensor[i]];
        w->holds[(size_t)p->out_tensor[i] * k + d] = 1;
    }
    w->held[d] += kept;
    if (w->held[d] + p->workspace[v] > w->peak[d]) w->peak[d] = w->held[d] + p->workspace[v];
    for (int32_t i = p->in_start[v]; i < p->in_start[v + 1]; i++) {
        int32_t t = p->in_tensor[i];
        if (!--w->left[(size_t)t * k + d] || !w->pending[t]) {
            if (!w->pending[t]) w->pending[t] = -1; /* once after the last transfer */
            release(p, w, t, dev[p->producer[t]]);
        }
    }
}

/* Memory over the limits, as shares of them. Without `check_memory` weights alone are held. */
static double step_excess(const Flat *p, const int32_t *dev, StepRoom *w) {
    double over = 0.0;
    if (p->check_memory) {
        begin_memory(p, dev, w);
        for (int32_t v = 0; v < p->nodes; v++) account(p, dev, w, v);
    } else {
        for (int32_t d = 0; d < p->devices; d++) w->peak[d] = 0.0;
        for (int32_t v = 0; v < p->nodes; v++) w->peak[dev[v]] += p->weights[v];
    }
    for (int32_t d = 0; d < p->devices; d++)
        if (w->peak[d] > p->limit[d]) over += (w->peak[d] - p->limit[d]) / (p->limit[d] + 1.0);
    return over;
}

/* ---- one sample: calls of accelerators ---- */

typedef struct {
    int32_t *level, *table, *seen, *group, *head, *next, *waits, *stack, *mark;
    double *finish, *held;
    int32_t turn;
} CallRoom;

static int make_call_room(const Flat *p, CallRoom *w) {
    size_t n = p->nodes, k = p->devices;
    w->level = room(n * k, 4);
    w->table = room((n + 2) * k, 4);
    w->seen = calloc((n + 2) * k + 2, 4);
    w->group = room(n, 4), w->head = room(n, 4), w->next = room(n, 4);
    w->waits = room(n, 4), w->stack = room(n, 4), w->mark = room(p->tensors, 4);
    w->finish = room(n, 8), w->held = room(k, 8);
    w->turn = 0;
    return w->level && w->table && w->seen && w->group && w->head && w->next && w->waits && w->stack && w->mark &&
           w->finish && w->held;
}

static void free_call_room(CallRoom *w) {
    free(w->level), free(w->table), free(w->seen), free(w->group), free(w->head), free(w->next);
    free(w->waits), free(w->stack), free(w->mark), free(w->finish), free(w->held);
}

static int32_t cut_calls(const Flat *p, const int32_t *dev, CallRoom *w) {
    int32_t k = p->devices, groups = 0;
    w->turn++;
    for (int32_t v = 0; v < p->nodes; v++) {
        int32_t d = dev[v], own = 1, *level = w->level + (size_t)v * k;
        for (int32_t e = 0; e < k; e++) level[e] = 0;
        for (int32_t i = p->in_start[v]; i < p->in_start[v + 1]; i++) {
            int32_t u = p->producer[p->in_tensor[i]];
            const int32_t *before = w->level + (size_t)u * k;
            for (int32_t e = 0; e < k; e++) level[e] = level[e] > before[e] ? level[e] : before[e];
            if (before[d] + (dev[u] != d) > own) own = before[d] + (dev[u] != d);
        }
        if (p->is_host[d]) {
            w->group[v] = groups;
            w->head[groups] = v, w->next[v] = -1;
            groups++;
            continue;
        }
        level[d] = own;
        size_t slot = (size_t)own * k + d;
        if (w->seen[slot] != w->turn) {
            w->seen[slot] = w->turn;
            w->table[slot] = groups;
            w->head[groups++] = -1;
        }
        int32_t g = w->group[v] = w->table[slot];
        w->next[v] = w->head[g], w->head[g] = v;
    }
    return groups;
}

static double latency(const Flat *p, const int32_t *dev, CallRoom *w, double enough, double *excess) {
    int32_t k = p->devices, groups = cut_calls(p, dev, w), top = 0, done = 0;
    double end = 0.0, over = 0.0;
    for (int32_t d = 0; d < k; d++) w->held[d] = 0.0;
    for (int32_t v = 0; v < p->nodes; v++) w->held[dev[v]] += p->size[v];
    for (int32_t d = 0; d < k; d++)
        if (w->held[d] > p->limit[d]) over += (w->held[d] - p->limit[d]) / (p->limit[d] + 1.0);
    *excess = over;
    for (int32_t g = 0; g < groups; g++) w->waits[g] = 0;
    for (int32_t t = 0; t < p->tensors; t++) {
        int32_t from = w->group[p->producer[t]];
        w->mark[t] = -1;
        for (int32_t i = p->consumer_start[t]; i < p->consumer_start[t + 1]; i++) {
            int32_t to = w->group[p->consumer[i]];
            w->waits[to] += to != from;
        }
    }
    for (int32_t g = groups - 1; g >= 0; g--)
        if (!w->waits[g]) w->stack[top++] = g;
    while (top) {
        int32_t g = w->stack[--top], d = dev[w->head[g]];
        double start = 0.0, work = 0.0, in = 0.0, out = 0.0;
        done++;
        for (int32_t v = w->head[g]; v >= 0; v = w->next[v]) {
            work += p->time[(size_t)v * k + d];
            for (int32_t i = p->in_start[v]; i < p->in_start[v + 1]; i++) {
                int32_t t = p->in_tensor[i], from = w->group[p->producer[t]];
                if (from == g || w->mark[t] == g) continue;
                w->mark[t] = g;
                in += p->price_in[(size_t)t * k + d];
                if (w->finish[from] > start) start = w->finish[from];
            }
            for (int32_t i = p->out_start[v]; i < p->out_start[v + 1]; i++) {
                int32_t t = p->out_tensor[i], leaves = 0;
                for (int32_t j = p->consumer_start[t]; j < p->consumer_start[t + 1]; j++) {
                    int32_t to = w->group[p->consumer[j]];
                    if (to == g) continue;
                    leaves = 1;
                    if (!--w->waits[to]) w->stack[top++] = to;
                }
                if (leaves) out += p->price_out[(size_t)t * k + d];
            }
        }
        double finish = start + in + work + out;
        w->finish[g] = finish;
        if (finish > end) end = finish;
        if (finish > enough) return INFINITY;
    }
    return done < groups ? INFINITY : end;
}

/* ---- moves ---- */

typedef struct {
    int32_t *block, *device, *queue, *mark;
    int32_t count, turn;
} Move;

static int may(const Flat *p, int32_t b, int32_t d) {
    for (int32_t i = p->candidate_start[b]; i < p->candidate_start[b + 1]; i++)
        if (p->candidate[i] == d) return 1;
    return 0;
}

static void add(const Flat *p, const int32_t *place, Move *m, int32_t b, int32_t d) {
    if (place[b] != d && may(p, b, d)) m->block[m->count] = b, m->device[m->count++] = d;
}

static int32_t some_device(const Flat *p, uint64_t *chance, int32_t b) {
    return p->candidate[p->candidate_start[b] + below(chance, p->candidate_start[b + 1] - p->candidate_start[b])];
}

static int32_t near_device(const Flat *p, const int32_t *place, uint64_t *chance, int32_t b) {
    int32_t n = p->near_start[b + 1] - p->near_start[b];
    return n ? place[p->near[p->near_start[b] + below(chance, n)]] : some_device(p, chance, b);
}

static void propose(const Flat *p, const int32_t *place, uint64_t *chance, Move *m) {
    int32_t n = p->blocks, b = below(chance, n), kind = below(chance, 100);
    m->count = 0;
    if (kind < 35) {
        add(p, place, m, b, near_device(p, place, chance, b));
    } else if (kind < 47) {
        add(p, place, m, b, some_device(p, chance, b));
    } else if (kind < 57) {
        int32_t c = below(chance, n);
        add(p, place, m, b, place[c]);
        add(p, place, m, c, place[b]);
    } else if (kind < 82) {
        const int32_t *order = p->order + (size_t)below(chance, p->orders) * n;
        const int32_t *position = p->position + (order - p->order);
        int32_t most = 1 << below(chance, 9), length = 1 + below(chance, most < n ? most : n), first = position[b];
        int32_t last = first + length < n ? first + length : n, side = below(chance, 3);
        int32_t d = side == 0 && first > 0 ? place[order[first - 1]]
                  : side == 1 && last < n  ? place[order[last]]
                                           : some_device(p, chance, b);
        for (int32_t i = first; i < last; i++) add(p, place, m, order[i], d);
    } else {
        int32_t most = 2 << below(chance, 7), from = place[b], d, got = 0, at = 0;
        d = below(chance, 2) ? near_device(p, place, chance, b) : some_device(p, chance, b);
        m->turn++;
        m->queue[got++] = b, m->mark[b] = m->turn;
        while (at < got) {
            int32_t c = m->queue[at++];
            add(p, place, m, c, d);
            for (int32_t i = p->near_start[c]; i < p->near_start[c + 1] && got < most; i++) {
                int32_t e = p->near[i];
                if (m->mark[e] == m->turn || place[e] != from) continue;
                m->mark[e] = m->turn;
                if (below(chance, 8)) m->queue[got++] = e;
            }
        }
    }
}

static int make_move(const Flat *p, Move *m) {
    m->block = room(p->blocks + 2, 4), m->device = room(p->blocks + 2, 4);
    m->queue = room(p->blocks + 260, 4), m->mark = calloc(p->blocks + 2, 4);
    m->count = m->turn = 0;
    return m->block && m->device && m->queue && m->mark;
}

static void free_move(Move *m) { free(m->block), free(m->device), free(m->queue), free(m->mark); }

static int better(double value, double excess, const Found *found) {
    if (excess > 0 || found->excess > 0)
        return excess < found->excess || (excess == found->excess && value < found->value);
    return value < found->value;
}

/* ---- annealing, with an evaluation for each move ---- */

static void spread(const Flat *p, int32_t *dev, int32_t b, int32_t d) {
    for (int32_t i = p->block_start[b]; i < p->block_start[b + 1]; i++) dev[p->block_node[i]] = d;
}

/* Whether a node takes nothing and no time, wherever it may be. */
static int says_nothing(const Flat *p, int32_t v, int32_t b) {
    if (p->in_start[v] < p->in_start[v + 1]) return 0;
    for (int32_t i = p->candidate_start[b]; i < p->candidate_start[b + 1]; i++)
        if (p->time[(size_t)v * p->devices + p->candidate[i]] != 0.0) return 0;
    return 1;
}

static void blocks_of_nodes(const Flat *p, int32_t *block) {
    for (int32_t b = 0; b < p->blocks; b++)
        for (int32_t i = p->block_start[b]; i < p->block_start[b + 1]; i++) block[p->block_node[i]] = b;
}

/* For each block the first node whose dispatch it changes: nodes that say nothing and come before all others end at 0
 * wherever they are, and matter only when something takes what they make. */
static void first_nodes(const Flat *p, const int32_t *block, int32_t *first) {
    int32_t begin = 0;
    while (begin < p->nodes && says_nothing(p, begin, block[begin])) begin++;
    for (int32_t b = 0; b < p->blocks; b++) {
        first[b] = p->nodes;
        for (int32_t i = p->block_start[b]; i < p->block_start[b + 1]; i++) {
            int32_t v = p->block_node[i];
            if (v >= begin && v < first[b]) first[b] = v;
            for (int32_t j = v < begin ? p->out_start[v] : 0; v < begin && j < p->out_start[v + 1]; j++) {
                int32_t t = p->out_tensor[j], c = p->consumer_start[t];
                if (c < p->consumer_start[t + 1] && p->consumer[c] < first[b]) first[b] = p->consumer[c];
            }
        }
    }
}

static int anneal_whole(const Flat *p, const Schedule *s, int32_t *place, const volatile int32_t *stop, Found *found) {
    StepRoom step_room = {0};
    CallRoom call_room = {0};
    Move m = {0};
    int is_step = s->objective == STEP;
    int32_t *now = room(p->blocks, 4), *dev = room(p->nodes, 4), *block = room(p->nodes, 4), *first = room(p->blocks, 4);
    int ok = now && dev && block && first && make_move(p, &m);
    ok = ok && (is_step ? make_step_room(p, &step_room) : make_call_room(p, &call_room));
    if (ok) {
        uint64_t chance = s->seed;
        double temperature = s->warm, weight = s->soft, excess = 0.0, value;
        double cool = s->moves > 1 ? exp(log(s->cold / s->warm) / (double)(s->moves - 1)) : 1.0;
        double harden = s->moves > 1 ? exp(log(s->hard / s->soft) / (double)(s->moves - 1)) : 1.0;
        memcpy(now, place, (size_t)p->blocks * 4);
        for (int32_t b = 0; b < p->blocks; b++) spread(p, dev, b, now[b]);
        blocks_of_nodes(p, block), first_nodes(p, block, first);
        if (is_step) {
            value = step_time(p, dev, &step_room, 0, INFINITY), excess = step_excess(p, dev, &step_room);
            take_trial(p, &step_room);
        } else {
            value = latency(p, dev, &call_room, INFINITY, &excess);
        }
        double scale = value < INFINITY && value > 0 ? value : 1.0;
        found->value = value, found->excess = excess, found->tried = 0;
        for (int64_t i = 0; i < s->moves; i++, temperature *= cool, weight *= harden) {
            if (i % LOOK_EVERY == 0 && *stop) break;
            found->tried++;
            propose(p, now, &chance, &m);
            double luck = unit(&chance);
            if (!m.count) continue;
            /* The move is taken if it is below this; an evaluation that passes it may end. */
            double most = value + scale * (weight * excess - temperature * log(luck + 1e-300));
            double its_excess = 0.0, its_value;
            int32_t from = p->nodes;
            for (int32_t j = 0; j < m.count; j++) {
                spread(p, dev, m.block[j], m.device[j]);
                if (first[m.block[j]] < from) from = first[m.block[j]];
            }
            if (is_step) {
                its_value = step_time(p, dev, &step_room, from, most);
                if (its_value < INFINITY) its_excess = step_excess(p, dev, &step_room);
            } else {
                its_value = latency(p, dev, &call_room, most, &its_excess);
            }
            if (value == INFINITY || (its_value < INFINITY && its_value + scale * weight * its_excess <= most)) {
                value = its_value, excess = its_excess;
                if (is_step) take_trial(p, &step_room);
                for (int32_t j = 0; j < m.count; j++) now[m.block[j]] = m.device[j];
                if (better(value, excess, found)) {
                    found->value = value, found->excess = excess;
                    memcpy(place, now, (size_t)p->blocks * 4);
                }
            } else {
                for (int32_t j = 0; j < m.count; j++) spread(p, dev, m.block[j], now[m.block[j]]);
            }
        }
    }
    free(now), free(dev), free(block), free(first);
    free_move(&m), free_step_room(&step_room), free_call_room(&call_room);
    return ok;
}

/* ---- annealing of the largest load, with the difference that a move makes ---- */

typedef struct {
    double *load, *held;
    int32_t *count, *away; /* [bundle, device]: takers there; [bundle]: takers elsewhere than at home */
} LoadRoom;

static void shift(const Flat *p, LoadRoom *w, int32_t *now, int32_t b, int32_t d) {
    int32_t k = p->devices, from = now[b];
    w->load[from] -= p->block_time[(size_t)b * k + from];
    w->load[d] += p->block_time[(size_t)b * k + d];
    w->held[from] -= p->block_size[b], w->held[d] += p->block_size[b];
    for (int32_t i = p->takes_start[b]; i < p->takes_start[b + 1]; i++) {
        int32_t g = p->takes[i], home = now[p->bundle_home[g]], *count = w->count + (size_t)g * k;
        if (!--count[from] && from != home) w->load[from] -= p->bundle_in[(size_t)g * k + from];
        if (from != home && !--w->away[g]) w->load[home] -= p->bundle_out[(size_t)g * k + home];
        if (!count[d]++ && d != home) w->load[d] += p->bundle_in[(size_t)g * k + d];
        if (d != home && !w->away[g]++) w->load[home] += p->bundle_out[(size_t)g * k + home];
    }
    for (int32_t i = p->makes_start[b]; i < p->makes_start[b + 1]; i++) {
        int32_t g = p->makes[i], *count = w->count + (size_t)g * k;
        if (w->away[g]) w->load[from] -= p->bundle_out[(size_t)g * k + from];
        if (count[from]) w->load[from] += p->bundle_in[(size_t)g * k + from];
        if (count[d]) w->load[d] -= p->bundle_in[(size_t)g * k + d];
        w->away[g] += count[from] - count[d];
        if (w->away[g]) w->load[d] += p->bundle_out[(size_t)g * k + d];
    }
    now[b] = d;
}

static void load_all(const Flat *p, LoadRoom *w, const int32_t *now) {
    int32_t k = p->devices;
    for (int32_t d = 0; d < k; d++) w->load[d] = w->held[d] = 0.0;
    memset(w->count, 0, (size_t)p->bundles * k * 4);
    for (int32_t g = 0; g < p->bundles; g++) w->away[g] = 0;
    for (int32_t b = 0; b < p->blocks; b++) {
        w->load[now[b]] += p->block_time[(size_t)b * k + now[b]];
        w->held[now[b]] += p->block_size[b];
        for (int32_t i = p->takes_start[b]; i < p->takes_start[b + 1]; i++) {
            int32_t g = p->takes[i];
            w->count[(size_t)g * k + now[b]]++;
            w->away[g] += now[b] != now[p->bundle_home[g]];
        }
    }
    for (int32_t g = 0; g < p->bundles; g++) {
        int32_t home = now[p->bundle_home[g]];
        for (int32_t d = 0; d < k; d++)
            if (d != home && w->count[(size_t)g * k + d]) w->load[d] += p->bundle_in[(size_t)g * k + d];
        if (w->away[g]) w->load[home] += p->bundle_out[(size_t)g * k + home];
    }
}

static double largest(const Flat *p, const LoadRoom *w, double *excess) {
    double most = 0.0, over = 0.0;
    for (int32_t d = 0; d < p->devices; d++) {
        if (w->load[d] > most) most = w->load[d];
        if (w->held[d] > p->limit[d]) over += (w->held[d] - p->limit[d]) / (p->limit[d] + 1.0);
    }
    *excess = over;
    return most;
}

static double energy(const Flat *p, const LoadRoom *w, double scale, int32_t doublings) {
    double sum = 0.0;
    for (int32_t d = 0; d < p->devices; d++) {
        double x = w->load[d] * scale;
        x = x * x * x;
        for (int32_t i = 0; i < doublings; i++) x = x * x;
        sum += x;
    }
    return log(sum + 1e-300) / (double)(3 << doublings);
}

static int anneal_load(const Flat *p, const Schedule *s, int32_t *place, const volatile int32_t *stop, Found *found) {
    LoadRoom w = {room(p->devices, 8), room(p->devices, 8), room((size_t)p->bundles * p->devices, 4), room(p->bundles, 4)};
    Move m = {0};
    int32_t *now = room(p->blocks, 4), *back = room(p->blocks + 2, 4);
    int ok = make_move(p, &m) && now && back && w.load && w.held && w.count && w.away;
    if (ok) {
        uint64_t chance = s->seed;
        double temperature = s->warm, weight = s->soft, excess = 0.0;
        double cool = s->moves > 1 ? exp(log(s->cold / s->warm) / (double)(s->moves - 1)) : 1.0;
        double harden = s->moves > 1 ? exp(log(s->hard / s->soft) / (double)(s->moves - 1)) : 1.0;
        memcpy(now, place, (size_t)p->blocks * 4);
        load_all(p, &w, now);
        double value = largest(p, &w, &excess), scale = value > 0 ? 1.0 / value : 1.0;
        double level = energy(p, &w, scale, s->doublings);
        found->value = value, found->excess = excess, found->tried = 0;
        for (int64_t i = 0; i < s->moves; i++, temperature *= cool, weight *= harden) {
            if (i % LOOK_EVERY == 0 && *stop) break;
            if (i % 100000 == 99999) load_all(p, &w, now); /* sums of differences drift */
            found->tried++;
            propose(p, now, &chance, &m);
            double luck = unit(&chance), its_excess, its_value, its_level;
            if (!m.count) continue;
            for (int32_t j = 0; j < m.count; j++) back[j] = now[m.block[j]], shift(p, &w, now, m.block[j], m.device[j]);
            its_value = largest(p, &w, &its_excess);
            its_level = energy(p, &w, scale, s->doublings);
            if (its_level + weight * its_excess <= level + weight * excess - temperature * log(luck + 1e-300)) {
                value = its_value, excess = its_excess, level = its_level;
                if (better(value, excess, found)) {
                    found->value = value, found->excess = excess;
                    memcpy(place, now, (size_t)p->blocks * 4);
                }
            } else {
                for (int32_t j = m.count - 1; j >= 0; j--) shift(p, &w, now, m.block[j], back[j]);
            }
        }
    }
    free(w.load), free(w.held), free(w.count), free(w.away), free(now), free(back), free_move(&m);
    return ok;
}

/* ---- list schedules: `lists.py` ---- */

typedef struct {
    double *held;
    int32_t *block, *dev, *waits, *heap, *top, *fitting;
} ListRoom;

static int make_list_room(const Flat *p, ListRoom *w, int32_t width) {
    w->held = calloc(p->devices + 1, 8);
    w->block = room(p->nodes, 4), w->dev = room(p->nodes, 4), w->waits = room(p->nodes, 4), w->heap = room(p->nodes, 4);
    w->top = room(width, 4), w->fitting = room(p->devices, 4);
    return w->held && w->block && w->dev && w->waits && w->heap && w->top && w->fitting;
}

static void free_list_room(ListRoom *w) {
    free(w->held), free(w->block), free(w->dev), free(w->waits), free(w->heap), free(w->top), free(w->fitting);
}

static int before(const double *rank, int32_t u, int32_t v) { return rank[u] > rank[v] || (rank[u] == rank[v] && u < v); }

static void heap_push(int32_t *heap, int32_t *count, const double *rank, int32_t v) {
    int32_t i = (*count)++;
    for (; i > 0 && before(rank, v, heap[(i - 1) / 2]); i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = v;
}

static int32_t heap_pop(int32_t *heap, int32_t *count, const double *rank) {
    int32_t first = heap[0], last = heap[--*count], n = *count, i = 0;
    for (;;) {
        int32_t child = 2 * i + 1;
        if (child >= n) break;
        if (child + 1 < n && before(rank, heap[child + 1], heap[child])) child++;
        if (!before(rank, heap[child], last)) break;
        heap[i] = heap[child], i = child;
    }
    heap[i] = last;
    return first;
}

/* The devices with room for a block; the one with the most room left where none has enough. */
static int32_t fitting(const Flat *p, ListRoom *w, int32_t b) {
    int32_t count = 0, widest = p->candidate[p->candidate_start[b]];
    for (int32_t i = p->candidate_start[b]; i < p->candidate_start[b + 1]; i++) {
        int32_t d = p->candidate[i];
        if (w->held[d] + p->block_size[b] <= p->limit[d]) w->fitting[count++] = d;
        if (p->limit[d] - w->held[d] > p->limit[widest] - w->held[widest]) widest = d;
    }
    if (!count) w->fitting[count++] = widest;
    return count;
}

static void settle(const Flat *p, ListRoom *w, int32_t *place, int32_t b, int32_t d) {
    if (place[b] >= 0) return;
    int32_t count = fitting(p, w, b), chosen = w->fitting[0];
    for (int32_t i = 0; i < count; i++)
        if (w->fitting[i] == d) chosen = d;
    place[b] = chosen;
    w->held[chosen] += p->block_size[b];
    spread(p, w->dev, b, chosen);
}

static double list_start(const Flat *p, StepRoom *s, const ListRoom *w, int32_t v, int32_t d) {
    double ready = 0.0, lane;
    memcpy(s->spare, s->engine, ((size_t)p->lanes + p->resources) * 8);
    for (int32_t i = p->in_start[v]; i < p->in_start[v + 1]; i++) {
        int32_t t = p->in_tensor[i], u = p->producer[t], home = w->dev[u];
        double made = s->new_finish[u], at = home < 0 || home == d ? made : bring(p, s, t, home, d, made, s->spare, 0);
        if (at > ready) ready = at;
    }
    lane = s->spare[best_lane(p, s->spare, d)];
    return lane > ready ? lane : ready;
}

static void list_all(const Flat *p, StepRoom *s, ListRoom *w, const double *rank, int32_t width, int32_t *place) {
    int32_t k = p->devices, ready = 0;
    if (!p->nodes) return;
    s->new_orders = 0; /* lists know of no order but their own */
    begin_trial(p, s, 0);
    for (int32_t b = 0; b < p->blocks; b++) {
        place[b] = -1;
        spread(p, w->dev, b, -1);
    }
    blocks_of_nodes(p, w->block);
    for (int32_t v = 0; v < p->nodes; v++) {
        s->new_finish[v] = 0.0;
        w->waits[v] = p->in_start[v + 1] - p->in_start[v];
        if (!w->waits[v]) heap_push(w->heap, &ready, rank, v);
    }
    while (ready) {
        int32_t best = -1, chosen = -1, got = 0;
        double least = INFINITY;
        while (ready && got < width) {
            int32_t v = w->top[got++] = heap_pop(w->heap, &ready, rank), b = w->block[v], count = 1;
            if (says_nothing(p, v, b)) {
                best = v, chosen = -1;
                break;
            }
            if (place[b] < 0) count = fitting(p, w, b);
            else w->fitting[0] = place[b];
            for (int32_t i = 0; i < count; i++) {
                int32_t d = w->fitting[i];
                double when = list_start(p, s, w, v, d);
                if (width == 1) when += p->time[(size_t)v * k + d];
                if (best < 0 || when < least) best = v, chosen = d, least = when;
            }
        }
        for (int32_t i = 0; i < got; i++)
            if (w->top[i] != best) heap_push(w->heap, &ready, rank, w->top[i]);
        if (chosen >= 0) {
            settle(p, w, place, w->block[best], chosen);
            for (int32_t i = p->in_start[best]; i < p->in_start[best + 1]; i++)
                settle(p, w, place, w->block[p->producer[p->in_tensor[i]]], chosen);
            run_node(p, s, w->dev, best);
        }
        for (int32_t i = p->out_start[best]; i < p->out_start[best + 1]; i++) {
            int32_t t = p->out_tensor[i];
            for (int32_t j = p->consumer_start[t]; j < p->consumer_start[t + 1]; j++)
                if (!--w->waits[p->consumer[j]]) heap_push(w->heap, &ready, rank, p->consumer[j]);
        }
    }
    for (int32_t b = 0; b < p->blocks; b++) settle(p, w, place, b, -1);
}

/* ---- what Python calls ---- */

int situs_list(const Flat *p, const double *rank, int32_t width, int32_t *place) {
    ListRoom w = {0};
    StepRoom step_room = {0};
    int ok = make_list_room(p, &w, width) && make_step_room(p, &step_room);
    if (ok) list_all(p, &step_room, &w, rank, width, place);
    free_list_room(&w), free_step_room(&step_room);
    return ok;
}

int situs_anneal(const Flat *p, const Schedule *s, int32_t *place, const volatile int32_t *stop, Found *found) {
    return s->objective == MAX_LOAD ? anneal_load(p, s, place, stop, found) : anneal_whole(p, s, place, stop, found);
}

typedef struct {
    int32_t *dev;
    StepRoom step;
    CallRoom call;
    LoadRoom load;
} Rooms;

static int make_rooms(const Flat *p, int32_t objective, Rooms *r) {
    LoadRoom load = {room(p->devices, 8), room(p->devices, 8), room((size_t)p->bundles * p->devices, 4), room(p->bundles, 4)};
    int ok = load.load && load.held && load.count && load.away;
    r->load = load;
    r->dev = room(p->nodes, 4);
    if (objective == STEP) ok = ok && make_step_room(p, &r->step);
    if (objective == LATENCY) ok = ok && make_call_room(p, &r->call);
    return ok && r->dev;
}

static void free_rooms(Rooms *r) {
    free(r->load.load), free(r->load.held), free(r->load.count), free(r->load.away), free(r->dev);
    free_step_room(&r->step), free_call_room(&r->call);
}

static double value_of(const Flat *p, int32_t objective, const int32_t *place, Rooms *r, double *excess) {
    if (objective == MAX_LOAD) {
        load_all(p, &r->load, place);
        return largest(p, &r->load, excess);
    }
    for (int32_t b = 0; b < p->blocks; b++) spread(p, r->dev, b, place[b]);
    if (objective == LATENCY) return latency(p, r->dev, &r->call, INFINITY, excess);
    *excess = step_excess(p, r->dev, &r->step);
    return step_time(p, r->dev, &r->step, 0, INFINITY);
}

int situs_evaluate(const Flat *p, int32_t objective, const int32_t *place, Found *found) {
    Rooms r = {0};
    int ok = make_rooms(p, objective, &r);
    if (ok) found->value = value_of(p, objective, place, &r, &found->excess);
    found->tried = 1;
    free_rooms(&r);
    return ok;
}

/* The best of all placements, the first among equals; the last block changes fastest. */
int situs_every(const Flat *p, int32_t objective, int32_t *place, Found *found) {
    Rooms r = {0};
    int32_t *now = room(p->blocks, 4), *at = calloc(p->blocks + 1, 4), b = 0;
    int ok = now && at && make_rooms(p, objective, &r);
    for (int32_t i = 0; ok && i < p->blocks; i++) now[i] = p->candidate[p->candidate_start[i]];
    for (found->tried = 0; ok && b >= 0;) {
        double excess = 0.0, value = value_of(p, objective, now, &r, &excess);
        if (!found->tried++ || better(value, excess, found)) {
            found->value = value, found->excess = excess;
            memcpy(place, now, (size_t)p->blocks * 4);
        }
        for (b = p->blocks - 1; b >= 0; b--) {
            if (++at[b] == p->candidate_start[b + 1] - p->candidate_start[b]) at[b] = 0;
            now[b] = p->candidate[p->candidate_start[b] + at[b]];
            if (at[b]) break;
        }
    }
    free(now), free(at), free_rooms(&r);
    return ok;
}
