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
    int32_t bundles, unused;
    const double *block_time, *block_size;         /* [block, device], [block] */
    const double *bundle_in, *bundle_out;          /* [bundle, device] */
    const int32_t *bundle_home;                    /* [bundle] */
    const int32_t *makes_start, *makes;            /* bundles that a block makes */
    const int32_t *takes_start, *takes;            /* bundles that a block takes */
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

/* ---- one step: in-order streams, links, memory ---- */

typedef struct {
    double *finish, *arrival, *lane, *resource, *held, *peak;
    int32_t *left, *pending;
    uint8_t *holds;
} StepRoom;

static void *room(size_t count, size_t each) { return malloc(count * each + 8); }

static int make_step_room(const Flat *p, StepRoom *w) {
    size_t tk = (size_t)p->tensors * p->devices;
    w->finish = room(p->nodes, 8);
    w->arrival = room(tk, 8);
    w->lane = room((size_t)p->lanes + p->resources, 8);
    w->resource = w->lane ? w->lane + p->lanes : NULL; /* a negative number is a lane */
    w->held = room(p->devices, 8);
    w->peak = room(p->devices, 8);
    w->left = room(tk, 4);
    w->pending = room(p->tensors, 4);
    w->holds = room(tk, 1);
    return w->finish && w->arrival && w->lane && w->resource && w->held && w->peak && w->left && w->pending && w->holds;
}

static void free_step_room(StepRoom *w) {
    free(w->finish), free(w->arrival), free(w->lane), free(w->held), free(w->peak);
    free(w->left), free(w->pending), free(w->holds);
}

static double hop(const Flat *p, StepRoom *w, int32_t t, int32_t s, int32_t d, double ready) {
    int32_t link = s * p->devices + d;
    for (int32_t i = p->resource_start[link]; i < p->resource_start[link + 1]; i++) {
        double busy = w->resource[p->resource[i]];
        if (busy > ready) ready = busy;
    }
    double end = ready + (p->hop[t] >= 0 ? p->hop[t] : p->link_latency[link] + p->bytes[t] * p->link_per_byte[link]);
    for (int32_t i = p->resource_start[link]; i < p->resource_start[link + 1]; i++) w->resource[p->resource[i]] = end;
    return end;
}

static void arrive(const Flat *p, StepRoom *w, int32_t t, int32_t d, double at) {
    size_t here = (size_t)t * p->devices + d;
    w->arrival[here] = at;
    if (!p->check_memory) return;
    w->holds[here] = 1;
    w->held[d] += p->bytes[t];
    if (w->held[d] > w->peak[d]) w->peak[d] = w->held[d];
    if (w->left[here]) w->pending[t]--;
}

static double bring(const Flat *p, StepRoom *w, int32_t t, int32_t home, int32_t d, double made) {
    int32_t k = p->devices, relay = p->relay[home * k + d];
    size_t here = (size_t)t * k + d;
    if (w->arrival[here] >= 0) return w->arrival[here];
    if (relay >= 0) {
        made = bring(p, w, t, home, relay, made);
        home = relay;
    }
    arrive(p, w, t, d, hop(p, w, t, home, d, made));
    return w->arrival[here];
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
    memset(w->left, 0, tk * 4);
    memset(w->holds, 0, tk);
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

static double step(const Flat *p, const int32_t *dev, StepRoom *w, double enough, double *excess) {
    int32_t k = p->devices;
    size_t tk = (size_t)p->tensors * k;
    double end = 0.0, over = 0.0;
    for (size_t i = 0; i < tk; i++) w->arrival[i] = -1.0;
    for (int32_t i = 0; i < p->lanes + p->resources; i++) w->lane[i] = 0.0;
    for (int32_t d = 0; d < k; d++) w->held[d] = 0.0;
    for (int32_t v = 0; v < p->nodes; v++) w->held[dev[v]] += p->weights[v];
    for (int32_t d = 0; d < k; d++) w->peak[d] = w->held[d];
    if (p->check_memory) begin_memory(p, dev, w);
    for (int32_t v = 0; v < p->nodes; v++) {
        int32_t d = dev[v], lane = p->lane_start[2 * d];
        double ready = 0.0;
        for (int32_t i = p->in_start[v]; i < p->in_start[v + 1]; i++) {
            int32_t t = p->in_tensor[i], u = p->producer[t];
            double at = dev[u] == d ? w->finish[u] : bring(p, w, t, dev[u], d, w->finish[u]);
            if (at > ready) ready = at;
        }
        for (int32_t i = lane + 1; i < p->lane_start[2 * d + 1]; i++)
            if (w->lane[i] < w->lane[lane]) lane = i;
        if (w->lane[lane] > ready) ready = w->lane[lane];
        double done = ready + p->time[(size_t)v * k + d];
        w->finish[v] = w->lane[lane] = done;
        if (done > end) end = done;
        if (done + p->tail[v] > enough) return INFINITY;
        if (p->check_memory) account(p, dev, w, v);
    }
    for (int32_t d = 0; d < k; d++)
        if (w->peak[d] > p->limit[d]) over += (w->peak[d] - p->limit[d]) / (p->limit[d] + 1.0);
    *excess = over;
    return end;
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

/* ---- annealing, with a whole evaluation for each move ---- */

static double evaluate(const Flat *p, int32_t objective, const int32_t *dev, StepRoom *s, CallRoom *c, double enough,
                       double *excess) {
    return objective == STEP ? step(p, dev, s, enough, excess) : latency(p, dev, c, enough, excess);
}

static void spread(const Flat *p, int32_t *dev, int32_t b, int32_t d) {
    for (int32_t i = p->block_start[b]; i < p->block_start[b + 1]; i++) dev[p->block_node[i]] = d;
}

static int anneal_whole(const Flat *p, const Schedule *s, int32_t *place, const volatile int32_t *stop, Found *found) {
    StepRoom step_room = {0};
    CallRoom call_room = {0};
    Move m = {0};
    int32_t *now = room(p->blocks, 4), *dev = room(p->nodes, 4), ok = now && dev && make_move(p, &m);
    ok = ok && (s->objective == STEP ? make_step_room(p, &step_room) : make_call_room(p, &call_room));
    if (ok) {
        uint64_t chance = s->seed;
        double temperature = s->warm, weight = s->soft, excess = 0.0;
        double cool = s->moves > 1 ? exp(log(s->cold / s->warm) / (double)(s->moves - 1)) : 1.0;
        double harden = s->moves > 1 ? exp(log(s->hard / s->soft) / (double)(s->moves - 1)) : 1.0;
        memcpy(now, place, (size_t)p->blocks * 4);
        for (int32_t b = 0; b < p->blocks; b++) spread(p, dev, b, now[b]);
        double value = evaluate(p, s->objective, dev, &step_room, &call_room, INFINITY, &excess);
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
            for (int32_t j = 0; j < m.count; j++) spread(p, dev, m.block[j], m.device[j]);
            its_value = evaluate(p, s->objective, dev, &step_room, &call_room, most, &its_excess);
            if (value == INFINITY || (its_value < INFINITY && its_value + scale * weight * its_excess <= most)) {
                value = its_value, excess = its_excess;
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
    free(now), free(dev), free_move(&m), free_step_room(&step_room), free_call_room(&call_room);
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
    double *finish, *arrival, *free, *trial, *held;
    int32_t *block, *waits, *heap, *top, *fitting;
} ListRoom;

static int make_list_room(const Flat *p, ListRoom *w, int32_t width) {
    size_t tk = (size_t)p->tensors * p->devices, engines = (size_t)p->lanes + p->resources;
    w->finish = calloc(p->nodes + 1, 8), w->arrival = room(tk, 8), w->held = calloc(p->devices + 1, 8);
    w->free = calloc(engines + 1, 8), w->trial = room(engines, 8);
    w->block = room(p->nodes, 4), w->waits = calloc(p->nodes + 1, 4), w->heap = room(p->nodes, 4);
    w->top = room(width, 4), w->fitting = room(p->devices, 4);
    return w->finish && w->arrival && w->free && w->trial && w->held && w->block && w->waits && w->heap && w->top &&
           w->fitting;
}

static void free_list_room(ListRoom *w) {
    free(w->finish), free(w->arrival), free(w->free), free(w->trial), free(w->held), free(w->block);
    free(w->waits), free(w->heap), free(w->top), free(w->fitting);
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

static int32_t best_lane(const Flat *p, const double *free_at, int32_t d) {
    int32_t lane = p->lane_start[2 * d];
    for (int32_t i = lane + 1; i < p->lane_start[2 * d + 1]; i++)
        if (free_at[i] < free_at[lane]) lane = i;
    return lane;
}

static double list_bring(const Flat *p, ListRoom *w, int32_t t, int32_t home, int32_t d, double made, double *free_at,
                         int is_run) {
    int32_t k = p->devices, relay = p->relay[home * k + d], link;
    size_t here = (size_t)t * k + d;
    double end, *engine = free_at + p->lanes;
    if (w->arrival[here] >= 0) return w->arrival[here];
    if (relay >= 0) {
        made = list_bring(p, w, t, home, relay, made, free_at, is_run);
        home = relay;
    }
    link = home * k + d;
    for (int32_t i = p->resource_start[link]; i < p->resource_start[link + 1]; i++)
        if (engine[p->resource[i]] > made) made = engine[p->resource[i]];
    end = made + (p->hop[t] >= 0 ? p->hop[t] : p->link_latency[link] + p->bytes[t] * p->link_per_byte[link]);
    for (int32_t i = p->resource_start[link]; i < p->resource_start[link + 1]; i++) engine[p->resource[i]] = end;
    if (is_run) w->arrival[here] = end;
    return end;
}

static double list_start(const Flat *p, ListRoom *w, const int32_t *place, int32_t v, int32_t d, double *free_at,
                         int is_run) {
    double ready = 0.0;
    for (int32_t i = p->in_start[v]; i < p->in_start[v + 1]; i++) {
        int32_t t = p->in_tensor[i], u = p->producer[t], home = place[w->block[u]];
        double at = home < 0 || home == d ? w->finish[u] : list_bring(p, w, t, home, d, w->finish[u], free_at, is_run);
        if (at > ready) ready = at;
    }
    double lane = free_at[best_lane(p, free_at, d)];
    return lane > ready ? lane : ready;
}

static int says_nothing(const Flat *p, const ListRoom *w, int32_t v) {
    int32_t b = w->block[v];
    if (p->in_start[v] < p->in_start[v + 1]) return 0;
    for (int32_t i = p->candidate_start[b]; i < p->candidate_start[b + 1]; i++)
        if (p->time[(size_t)v * p->devices + p->candidate[i]] != 0.0) return 0;
    return 1;
}

static void settle(const Flat *p, ListRoom *w, int32_t *place, int32_t b, int32_t d) {
    if (place[b] >= 0) return;
    int32_t count = fitting(p, w, b), chosen = w->fitting[0];
    for (int32_t i = 0; i < count; i++)
        if (w->fitting[i] == d) chosen = d;
    place[b] = chosen;
    w->held[chosen] += p->block_size[b];
}

static void list_all(const Flat *p, ListRoom *w, const double *rank, int32_t width, int32_t *place) {
    int32_t k = p->devices, ready = 0;
    size_t tk = (size_t)p->tensors * k, engines = (size_t)p->lanes + p->resources;
    for (size_t i = 0; i < tk; i++) w->arrival[i] = -1.0;
    for (int32_t b = 0; b < p->blocks; b++) {
        place[b] = -1;
        for (int32_t i = p->block_start[b]; i < p->block_start[b + 1]; i++) w->block[p->block_node[i]] = b;
    }
    for (int32_t v = 0; v < p->nodes; v++) {
        w->waits[v] = p->in_start[v + 1] - p->in_start[v];
        if (!w->waits[v]) heap_push(w->heap, &ready, rank, v);
    }
    while (ready) {
        int32_t best = -1, chosen = -1, got = 0;
        double least = INFINITY;
        while (ready && got < width) {
            int32_t v = w->top[got++] = heap_pop(w->heap, &ready, rank), b = w->block[v], count;
            if (says_nothing(p, w, v)) {
                best = v, chosen = -1;
                break;
            }
            if (place[b] < 0) count = fitting(p, w, b);
            else w->fitting[0] = place[b], count = 1;
            for (int32_t i = 0; i < count; i++) {
                int32_t d = w->fitting[i];
                memcpy(w->trial, w->free, engines * 8);
                double when = list_start(p, w, place, v, d, w->trial, 0);
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
            double start = list_start(p, w, place, best, chosen, w->free, 1);
            w->finish[best] = w->free[best_lane(p, w->free, chosen)] = start + p->time[(size_t)best * k + chosen];
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
    int ok = make_list_room(p, &w, width);
    if (ok) list_all(p, &w, rank, width, place);
    free_list_room(&w);
    return ok;
}

int situs_anneal(const Flat *p, const Schedule *s, int32_t *place, const volatile int32_t *stop, Found *found) {
    return s->objective == MAX_LOAD ? anneal_load(p, s, place, stop, found) : anneal_whole(p, s, place, stop, found);
}

int situs_evaluate(const Flat *p, int32_t objective, const int32_t *place, Found *found) {
    int ok;
    int32_t *dev = room(p->nodes, 4);
    StepRoom step_room = {0};
    CallRoom call_room = {0};
    LoadRoom w = {room(p->devices, 8), room(p->devices, 8), room((size_t)p->bundles * p->devices, 4), room(p->bundles, 4)};
    ok = dev && w.load && w.held && w.count && w.away;
    if (objective == STEP) ok = ok && make_step_room(p, &step_room);
    if (objective == LATENCY) ok = ok && make_call_room(p, &call_room);
    if (ok && objective == MAX_LOAD) {
        load_all(p, &w, place);
        found->value = largest(p, &w, &found->excess);
    } else if (ok) {
        for (int32_t b = 0; b < p->blocks; b++) spread(p, dev, b, place[b]);
        found->value = evaluate(p, objective, dev, &step_room, &call_room, INFINITY, &found->excess);
    }
    found->tried = 1;
    free(w.load), free(w.held), free(w.count), free(w.away), free(dev);
    free_step_room(&step_room), free_call_room(&call_room);
    return ok;
}

