/* Models on junction trees: their shape, and rows dealt from them. fallback_trees.py is the specification. */

#include <stdint.h>
#include <string.h>

/* The parents of rows are dealt their children: `hand` has, for each parent cell, the child codes of its rows one after
 * the other, from start[cell] on. Each hand is shuffled (Fisher-Yates), so every way to deal it is equally likely.
 * `start` is changed: it ends where the hands end.
 *
 * A call takes about `steps` steps, leaves in `so_far` where the next one goes on, which starts with zeros, and returns
 * whether all is done. What is dealt does not depend on where calls end. */
typedef struct {
    int64_t cell, inner, dealt;
} dealing_t;

int32_t sfumato_deal(const uint32_t *parent, int64_t rows, uint32_t *hand, int64_t *start, int64_t cells,
                     uint32_t *child, uint64_t *state, int64_t *so_far, int64_t steps)
{
    dealing_t *now = (dealing_t *)so_far;
    for (; now->cell < cells && steps > 0; now->cell++, now->inner = 0, steps--) {
        uint32_t *mine = hand + start[now->cell];
        int64_t last = start[now->cell + 1] - start[now->cell] - 1;
        for (; now->inner < last && steps > 0; now->inner++, steps--) {
            int64_t i = last - now->inner, j = below(state, (uint32_t)(i + 1));
            uint32_t code = mine[j];
            mine[j] = mine[i];
            mine[i] = code;
        }
        if (now->inner < last) return 0;
    }
    if (now->cell < cells) return 0;
    int64_t end = rows - now->dealt < steps ? rows : now->dealt + steps;
    for (int64_t i = now->dealt; i < end; i++) child[i] = hand[start[parent[i]]++];
    now->dealt = end > now->dealt ? end : now->dealt;
    return now->dealt == rows;
}

/* Elimination of the d vertices of a graph, cheapest first. graph[v] is the set of neighbours of v, `words` numbers of 64
 * bits; it is used up. A vertex costs the new edges that it makes, each end weighed by its size, but at most `most_fill`
 * of them, and among equals the cells of its clique; the first of the cheapest goes. Cliques that lie in no earlier one go to
 * `found`, and their number is returned; -1 as soon as they have more than `limit` cells together. */
static int popcount(uint64_t x)
{
    x -= (x >> 1) & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    return (int)((((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u) >> 56);
}

static int32_t lowest(uint64_t x) { return popcount((x & (0 - x)) - 1); }

#define FOR_EACH(member, set)                                                                                          \
    for (int32_t w_ = 0; w_ < words; w_++)                                                                             \
        for (uint64_t bits_ = (set)[w_]; bits_; bits_ &= bits_ - 1)                                                    \
            for (int32_t member = 64 * w_ + lowest(bits_), once_ = 1; once_; once_ = 0)

static void cost_of(const uint64_t *graph, int32_t words, const double *sizes, double most_fill, int32_t vertex,
                    double *fill, double *cells)
{
    const uint64_t *around = graph + (int64_t)vertex * words;
    double edges = 0, product = sizes[vertex];
    FOR_EACH(other, around) {
        int missing = -1; /* the other itself is not among its neighbours */
        for (int32_t w = 0; w < words; w++) missing += popcount(around[w] & ~graph[(int64_t)other * words + w]);
        edges += missing * sizes[other];
        product *= sizes[other];
    }
    fill[vertex] = edges < most_fill ? edges : most_fill;
    cells[vertex] = product;
}

int32_t sfumato_eliminate(int32_t d, int32_t words, const double *sizes, double most_fill, double limit,
                          uint64_t *graph, uint64_t *found, double *fill, double *cells, uint8_t *gone,
                          uint64_t *touched)
{
    int32_t cliques = 0;
    double sum = 0;
    for (int32_t v = 0; v < d; v++) cost_of(graph, words, sizes, most_fill, v, fill, cells);
    for (int32_t step = 0; step < d; step++) {
        int32_t best = -1;
        for (int32_t v = 0; v < d; v++)
            if (!gone[v] && (best < 0 || fill[v] < fill[best] || (fill[v] == fill[best] && cells[v] < cells[best])))
                best = v;
        gone[best] = 1;
        uint64_t *around = graph + (int64_t)best * words, *clique = found + (int64_t)cliques * words;
        memcpy(clique, around, sizeof(uint64_t) * (size_t)words);
        clique[best / 64] |= (uint64_t)1 << (best % 64);
        int32_t inside = 0;
        for (int32_t c = 0; c < cliques && !inside; c++) {
            inside = 1;
            for (int32_t w = 0; w < words && inside; w++) inside = !(clique[w] & ~found[(int64_t)c * words + w]);
        }
        if (!inside) {
            cliques++;
            sum += cells[best];
            if (sum > limit) return -1;
        }
        memcpy(touched, around, sizeof(uint64_t) * (size_t)words);
        FOR_EACH(other, around) {
            uint64_t *theirs = graph + (int64_t)other * words;
            for (int32_t w = 0; w < words; w++) theirs[w] |= around[w];
            theirs[other / 64] &= ~((uint64_t)1 << (other % 64));
            theirs[best / 64] &= ~((uint64_t)1 << (best % 64));
            for (int32_t w = 0; w < words; w++) touched[w] |= theirs[w];
        }
        FOR_EACH(other, touched) cost_of(graph, words, sizes, most_fill, other, fill, cells);
    }
    return cliques;
}
