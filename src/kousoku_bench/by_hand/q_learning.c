/* Tabular Q-learning on the article's grid, by hand: eight agents in the lanes of a vector, and one alone.

   8 x 12 cells, start bottom right, goal top left with reward 1, moves up, right, down, left; discount 0.9, learning
   rate 0.1; epsilon-greedy, ties broken at random. Random words are a hash of a counter: a tenth of threefry's work.
   q is [agents][96][4]; episodes is [agents] and counts the goals reached. */

#include <stdint.h>
#include <string.h>

enum { HEIGHT = 8, WIDTH = 12, STATES = HEIGHT * WIDTH, START = STATES - 1, LANES = 8 };

static const float DISCOUNT = 0.9f, RATE = 0.1f;
static const uint32_t STRIDE = 0x9e3779b9u;

typedef float floats __attribute__((vector_size(32)));
typedef int32_t ints __attribute__((vector_size(32)));
typedef uint32_t words __attribute__((vector_size(32)));
typedef float row4 __attribute__((vector_size(16)));

/* The hash "lowbias32" of C. Wellons: each bit of the result depends on each bit of x. */
#define HASH(x) (x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu, x ^= x >> 16)

static inline floats choose(ints mask, floats yes, floats no) {
    return (floats)((mask & (ints)yes) | (~mask & (ints)no));
}

static inline ints choose_int(ints mask, ints yes, ints no) { return (mask & yes) | (~mask & no); }

static inline floats larger(floats a, floats b) { return choose(a > b, a, b); }

static inline floats pair(const float *q, ints state, int low, int high) {
    row4 a, b;
    memcpy(&a, q + (low * STATES + state[low]) * 4, sizeof a);
    memcpy(&b, q + (high * STATES + state[high]) * 4, sizeof b);
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}

/* The four action values of each lane's state: eight rows, turned. */
static inline void values_of(const float *q, ints state, floats v[4]) {
    floats a = pair(q, state, 0, 4), b = pair(q, state, 1, 5), c = pair(q, state, 2, 6), d = pair(q, state, 3, 7);
    floats ab = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
    floats cd = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13);
    floats ab2 = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
    floats cd2 = __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
    v[0] = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13);
    v[1] = __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
    v[2] = __builtin_shufflevector(ab2, cd2, 0, 1, 8, 9, 4, 5, 12, 13);
    v[3] = __builtin_shufflevector(ab2, cd2, 2, 3, 10, 11, 6, 7, 14, 15);
}

static inline int any(ints mask) {
    uint64_t part[4];
    memcpy(part, &mask, sizeof part);
    return (part[0] | part[1] | part[2] | part[3]) != 0;
}

/* epsilon is in 65536ths: the lower half of a word is the coin, the upper half picks among the candidates. */
static inline ints act(const floats v[4], words word, uint32_t epsilon) {
    floats best = larger(larger(v[0], v[1]), larger(v[2], v[3]));
    ints explore = (word & 0xffffu) < epsilon;
    ints up_to[4];
    up_to[0] = -(explore | (v[0] == best));
    for (int a = 1; a < 4; a++) up_to[a] = up_to[a - 1] - (explore | (v[a] == best));
    ints k = (ints)(((word >> 16) * (words)up_to[3]) >> 16);
    return -((up_to[0] <= k) + (up_to[1] <= k) + (up_to[2] <= k));
}

static void learn_eight(float *q, int64_t *episodes, int64_t steps, uint32_t epsilon, uint32_t seed) {
    const ints zero = {0}, last = zero + START, first_row = zero + HEIGHT - 1, first_column = zero + WIDTH - 1;
    ints state = last, row = first_row, column = first_column, reached = zero;
    words counter = {0, 1, 2, 3, 4, 5, 6, 7};
    counter = (counter + seed * LANES) * 0x85ebca6bu;
    floats v[4], next[4];
    values_of(q, state, v);
    for (int64_t t = 0; t < steps; t++) {
        words word = counter += STRIDE;
        HASH(word);
        ints action = act(v, word, epsilon);
        row += (action == 0) - (action == 2);
        column += (action == 3) - (action == 1);
        row = choose_int(row < 0, zero, choose_int(row > HEIGHT - 1, first_row, row));
        column = choose_int(column < 0, zero, choose_int(column > WIDTH - 1, first_column, column));
        ints at = row * WIDTH + column, goal = at == 0, stayed = at == state;
        values_of(q, at, next);
        floats best = larger(larger(next[0], next[1]), larger(next[2], next[3]));
        floats target = choose(goal, (floats)zero + 1.0f, DISCOUNT * best);
        floats old = choose(action < 2, choose(action == 0, v[0], v[1]), choose(action == 2, v[2], v[3]));
        floats updated = old + RATE * (target - old);
        for (int i = 0; i < LANES; i++) q[(i * STATES + state[i]) * 4 + action[i]] = updated[i];
        for (int a = 0; a < 4; a++) v[a] = choose(stayed & (action == a), updated, next[a]);
        state = at;
        if (any(goal)) {
            reached -= goal;
            state = choose_int(goal, last, state);
            row = choose_int(goal, first_row, row);
            column = choose_int(goal, first_column, column);
            values_of(q, state, v);
        }
    }
    for (int i = 0; i < LANES; i++) episodes[i] += reached[i];
}

/* One agent: the same in scalars, with look-ups for the moves and for the k-th set bit of a mask. */
static void learn_one(float *q, int64_t *episodes, int64_t steps, uint32_t epsilon, uint32_t seed) {
    uint8_t moves[STATES * 4], kth[16 * 4], count[16];
    for (int s = 0; s < STATES; s++) {
        int row = s / WIDTH, column = s % WIDTH;
        moves[s * 4] = row > 0 ? s - WIDTH : s;
        moves[s * 4 + 1] = column < WIDTH - 1 ? s + 1 : s;
        moves[s * 4 + 2] = row < HEIGHT - 1 ? s + WIDTH : s;
        moves[s * 4 + 3] = column > 0 ? s - 1 : s;
    }
    for (int mask = 0; mask < 16; mask++) {
        count[mask] = 0;
        for (int a = 0; a < 4; a++)
            if (mask >> a & 1) kth[mask * 4 + count[mask]++] = a;
    }
    uint32_t counter = seed * 0x85ebca6bu;
    int state = START;
    for (int64_t t = 0; t < steps; t++) {
        uint32_t word = counter += STRIDE;
        HASH(word);
        const float *v = q + state * 4;
        float low = v[0] > v[1] ? v[0] : v[1], high = v[2] > v[3] ? v[2] : v[3], best = low > high ? low : high;
        int mask = (v[0] == best) | (v[1] == best) << 1 | (v[2] == best) << 2 | (v[3] == best) << 3;
        mask |= -((word & 0xffffu) < epsilon) & 15;
        int action = kth[mask * 4 + ((word >> 16) * count[mask] >> 16)];
        int at = moves[state * 4 + action];
        const float *n = q + at * 4;
        low = n[0] > n[1] ? n[0] : n[1], high = n[2] > n[3] ? n[2] : n[3], best = low > high ? low : high;
        float target = at == 0 ? 1.0f : DISCOUNT * best, *entry = q + state * 4 + action;
        *entry += RATE * (target - *entry);
        *episodes += at == 0;
        state = at == 0 ? START : at;
    }
}

void learn(float *q, int64_t *episodes, int64_t agents, int64_t steps, uint32_t epsilon, uint32_t seed) {
    int64_t i = 0;
    for (; i + LANES <= agents; i += LANES)
        learn_eight(q + i * STATES * 4, episodes + i, steps, epsilon, seed + (uint32_t)(i / LANES));
    for (; i < agents; i++) learn_one(q + i * STATES * 4, episodes + i, steps, epsilon, seed + 0x10000u + (uint32_t)i);
}
