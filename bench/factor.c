/* SPDX-License-Identifier: MIT */
/*
 * factor NUMBER [PRIMES]
 *
 * Factors a number by continued fractions (Morrison and Brillhart, "A method of factoring and the
 * factorization of F7", 1975), with early abort. Numbers are small blocks that never change; each
 * operation makes a new one, and what is no longer referred to is freed: some 20 bytes at a time,
 * by fifty call stacks of few frames, through one function that allocates.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stopwatch.h"

enum { PRIMES_MAX = 1024, SPARE = 12 /* more relations than primes */, EARLY = 8 };
enum { ROW_WORDS = (2 * (PRIMES_MAX + SPARE) + 63) / 64 };

/* Not negative, in digits of 16 bits, the lowest first, the highest not 0. */
struct number {
	uint32_t references, length;
	uint16_t digit[];
};

/* The square of the root is the product of the primes, but for multiples of what is factored. */
struct relation {
	struct number *root;
	uint16_t *exponent;	 /* of -1, then of each prime */
	uint64_t row[ROW_WORDS]; /* exponents' parities, and behind them which relations went in */
};

static double allocations;
static uint16_t prime[PRIMES_MAX];
static int primes;
static struct relation relation[PRIMES_MAX + SPARE];
static int relations;

__attribute__((noinline)) static struct number *number_new(uint32_t length)
{
	struct number *n = malloc(sizeof(*n) + length * sizeof(n->digit[0]));

	if (!n)
		abort();
	allocations++;
	n->references = 1;
	n->length = length;
	return n;
}

static struct number *number_ref(struct number *n)
{
	n->references++;
	return n;
}

static void number_drop(struct number *n)
{
	if (--n->references == 0)
		free(n);
}

/* Puts another number into a variable. */
static void number_set(struct number **variable, struct number *n)
{
	number_drop(*variable);
	*variable = n;
}

static struct number *number_trim(struct number *n)
{
	while (n->length > 0 && n->digit[n->length - 1] == 0)
		n->length--;
	return n;
}

static struct number *number_from(uint32_t value)
{
	struct number *n = number_new(2);

	n->digit[0] = (uint16_t)value;
	n->digit[1] = (uint16_t)(value >> 16);
	return number_trim(n);
}

static int number_compare(const struct number *a, const struct number *b)
{
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	for (uint32_t i = a->length; i-- > 0;)
		if (a->digit[i] != b->digit[i])
			return a->digit[i] < b->digit[i] ? -1 : 1;
	return 0;
}

static struct number *number_add(const struct number *a, const struct number *b)
{
	uint32_t length = a->length > b->length ? a->length : b->length, carry = 0;
	struct number *sum = number_new(length + 1);

	for (uint32_t i = 0; i <= length; i++) {
		carry += i < a->length ? a->digit[i] : 0;
		carry += i < b->length ? b->digit[i] : 0;
		sum->digit[i] = (uint16_t)carry;
		carry >>= 16;
	}
	return number_trim(sum);
}

/* @b is not larger than @a. */
static struct number *number_subtract(const struct number *a, const struct number *b)
{
	struct number *rest = number_new(a->length);
	int32_t carry = 0;

	for (uint32_t i = 0; i < a->length; i++) {
		carry += a->digit[i] - (i < b->length ? b->digit[i] : 0);
		rest->digit[i] = (uint16_t)carry;
		carry >>= 16;
	}
	return number_trim(rest);
}

static struct number *number_multiply(const struct number *a, const struct number *b)
{
	struct number *product = number_new(a->length + b->length);

	memset(product->digit, 0, product->length * sizeof(product->digit[0]));
	for (uint32_t i = 0; i < a->length; i++) {
		uint32_t carry = 0;

		for (uint32_t j = 0; j < b->length; j++) {
			carry += (uint32_t)a->digit[i] * b->digit[j] + product->digit[i + j];
			product->digit[i + j] = (uint16_t)carry;
			carry >>= 16;
		}
		product->digit[i + b->length] = (uint16_t)carry;
	}
	return number_trim(product);
}

static uint16_t number_modulo_small(const struct number *a, uint16_t b)
{
	uint32_t rest = 0;

	for (uint32_t i = a->length; i-- > 0;)
		rest = (rest << 16 | a->digit[i]) % b;
	return (uint16_t)rest;
}

/* The rest is dropped. */
static struct number *number_divide_small(const struct number *a, uint16_t b)
{
	struct number *quotient = number_new(a->length);
	uint32_t rest = 0;

	for (uint32_t i = a->length; i-- > 0;) {
		rest = rest << 16 | a->digit[i];
		quotient->digit[i] = (uint16_t)(rest / b);
		rest %= b;
	}
	return number_trim(quotient);
}

static struct number *number_shift(const struct number *a, int bits)
{
	struct number *shifted = number_new(a->length + 1);
	uint32_t carry = 0;

	for (uint32_t i = 0; i < a->length; i++) {
		carry |= (uint32_t)a->digit[i] << bits;
		shifted->digit[i] = (uint16_t)carry;
		carry >>= 16;
	}
	shifted->digit[a->length] = (uint16_t)carry;
	return shifted;
}

/* Takes @guess times @b from the digits at @a; a guess too large is put right. */
static uint16_t take_multiple(uint16_t *a, const struct number *b, uint32_t guess)
{
	uint32_t product = 0, sum;
	int32_t carry = 0;

	for (uint32_t i = 0; i <= b->length; i++) {
		product += i < b->length ? guess * b->digit[i] : 0;
		carry += a[i] - (int32_t)(product & 0xffff);
		a[i] = (uint16_t)carry;
		product >>= 16;
		carry >>= 16;
	}
	for (; carry < 0; carry += (int32_t)sum, guess--) {
		sum = 0;
		for (uint32_t i = 0; i <= b->length; i++) {
			sum += a[i] + (i < b->length ? b->digit[i] : 0u);
			a[i] = (uint16_t)sum;
			sum >>= 16;
		}
	}
	return (uint16_t)guess;
}

/* Knuth, The Art of Computer Programming 4.3.1, algorithm D. */
static struct number *number_divide(const struct number *a, const struct number *b,
				    struct number **ret_rest)
{
	uint32_t length = b->length, steps = a->length >= length ? a->length - length + 1 : 0;
	int bits = __builtin_clz(b->digit[length - 1]) - 16;
	struct number *rest = number_shift(a, bits), *divisor = number_trim(number_shift(b, bits));
	struct number *quotient = number_new(steps);

	for (uint32_t i = steps; i-- > 0;) {
		uint16_t *part = &rest->digit[i];
		uint32_t guess = (uint32_t)part[length] << 16 | part[length - 1];

		guess /= divisor->digit[length - 1];
		quotient->digit[i] = take_multiple(part, divisor, guess < 0xffff ? guess : 0xffff);
	}
	*ret_rest = number_divide_small(number_trim(rest), (uint16_t)(1u << bits));
	number_drop(rest);
	number_drop(divisor);
	return number_trim(quotient);
}

static struct number *number_quotient(const struct number *a, const struct number *b)
{
	struct number *rest, *quotient = number_divide(a, b, &rest);

	number_drop(rest);
	return quotient;
}

static struct number *number_modulo(const struct number *a, const struct number *b)
{
	struct number *rest;

	number_drop(number_divide(a, b, &rest));
	return rest;
}

static struct number *multiply_modulo(const struct number *a, const struct number *b,
				      const struct number *modulus)
{
	struct number *product = number_multiply(a, b), *rest = number_modulo(product, modulus);

	number_drop(product);
	return rest;
}

static struct number *number_gcd(struct number *a, struct number *b)
{
	a = number_ref(a);
	b = number_ref(b);
	while (b->length > 0) {
		struct number *rest = number_modulo(a, b);

		number_drop(a);
		a = b;
		b = rest;
	}
	number_drop(b);
	return a;
}

/* By Newton's method, from above. */
static struct number *number_root(const struct number *a)
{
	struct number *root = number_add(a, a), *two = number_from(2);

	for (;;) {
		struct number *better = number_quotient(a, root);

		number_set(&better, number_add(better, root));
		number_set(&better, number_quotient(better, two));
		if (number_compare(better, root) >= 0) {
			number_drop(better);
			number_drop(two);
			return root;
		}
		number_set(&root, better);
	}
}

static struct number *number_parse(const char *text)
{
	struct number *n = number_from(0), *ten = number_from(10);

	for (; *text >= '0' && *text <= '9'; text++) {
		struct number *digit = number_from((uint32_t)(*text - '0'));

		number_set(&n, number_multiply(n, ten));
		number_set(&n, number_add(n, digit));
		number_drop(digit);
	}
	number_drop(ten);
	return n;
}

static void number_print(struct number *n)
{
	char text[128];
	int at = sizeof(text) - 1;

	text[at] = 0;
	for (n = number_ref(n); n->length > 0 && at > 0; number_set(&n, number_divide_small(n, 10)))
		text[--at] = (char)('0' + number_modulo_small(n, 10));
	number_drop(n);
	puts(&text[at]);
}

static uint32_t power_modulo(uint32_t base, uint32_t exponent, uint32_t modulus)
{
	uint32_t power = 1;

	for (; exponent > 0; exponent >>= 1, base = base * base % modulus)
		if (exponent & 1)
			power = power * base % modulus;
	return power;
}

static int is_prime(uint32_t candidate)
{
	for (uint32_t divisor = 2; divisor * divisor <= candidate; divisor++)
		if (candidate % divisor == 0)
			return 0;
	return 1;
}

/* Only primes of which @n is a square can divide what the fraction's terms leave. */
static void choose_primes(const struct number *n, int wanted)
{
	for (uint16_t candidate = 2; primes < wanted && candidate < UINT16_MAX; candidate++) {
		uint32_t rest = number_modulo_small(n, candidate);

		if (!is_prime(candidate))
			continue;
		if (candidate == 2 || power_modulo(rest, (candidate - 1u) / 2, candidate) <= 1)
			prime[primes++] = candidate;
	}
}

/*
 * Divides by each prime as often as possible; whether nothing was left. Gives up where the first
 * primes have not taken away a digit.
 */
static int divide_out(struct number *value, uint16_t *exponent)
{
	uint32_t enough = value->length - 1;
	int is_smooth;

	value = number_ref(value);
	for (int i = 0; i < primes && (i != primes / EARLY || value->length <= enough); i++)
		for (; number_modulo_small(value, prime[i]) == 0; exponent[i + 1]++)
			number_set(&value, number_divide_small(value, prime[i]));
	is_smooth = value->length == 1 && value->digit[0] == 1;
	number_drop(value);
	return is_smooth;
}

static void add_relation(struct number *root, uint16_t *exponent)
{
	struct relation *r = &relation[relations];

	r->root = number_ref(root);
	r->exponent = exponent;
	for (int i = 0; i <= primes; i++)
		r->row[i / 64] |= (uint64_t)(exponent[i] & 1) << i % 64;
	r->row[(primes + 1 + relations) / 64] |= 1ull << (primes + 1 + relations) % 64;
	relations++;
}

/* One term of the fraction: @left, or its negative, is the square of @root. */
static void look_at(struct number *root, struct number *left, int is_negative)
{
	uint16_t *exponent = calloc((size_t)primes + 1, sizeof(*exponent));

	if (!exponent)
		abort();
	exponent[0] = (uint16_t)is_negative;
	if (divide_out(left, exponent))
		add_relation(root, exponent);
	else
		free(exponent);
}

/*
 * The fraction of the root of @n: (p + root) / q is what is left to expand, term its whole part.
 * The numerator's square is q modulo @n, and changes sign each time.
 */
static void collect(struct number *n, int wanted)
{
	struct number *whole = number_root(n), *term = number_ref(whole), *p = number_from(0);
	struct number *q = number_from(1), *before = number_from(1), *numerator = number_ref(whole);

	for (int is_negative = 1; relations < wanted; is_negative ^= 1) {
		struct number *next = number_multiply(term, q);

		number_set(&p, number_subtract(next, p));
		number_set(&next, number_multiply(p, p));
		number_set(&next, number_subtract(n, next));
		number_set(&q, number_quotient(next, q));
		look_at(numerator, q, is_negative);
		number_set(&next, number_add(whole, p));
		number_set(&term, number_quotient(next, q));
		number_set(&next, number_multiply(term, numerator));
		number_set(&next, number_add(next, before));
		number_set(&next, number_modulo(next, n));
		number_drop(before);
		before = numerator;
		numerator = next;
	}
	number_drop(whole);
	number_drop(term);
	number_drop(p);
	number_drop(q);
	number_drop(before);
	number_drop(numerator);
}

static int has_bit(const struct relation *r, int bit)
{
	return r->row[bit / 64] >> bit % 64 & 1;
}

/* A product of relations in which all exponents are even: a square on both sides. */
static struct number *try_product(struct number *n, const struct relation *product)
{
	struct number *left = number_from(1), *right = number_from(1), *factor;
	uint32_t *sum = calloc((size_t)primes + 1, sizeof(*sum));

	if (!sum)
		abort();
	for (int i = 0; i < relations; i++) {
		if (!has_bit(product, primes + 1 + i))
			continue;
		number_set(&left, multiply_modulo(left, relation[i].root, n));
		for (int j = 1; j <= primes; j++)
			sum[j] += relation[i].exponent[j];
	}
	for (int j = 1; j <= primes; j++)
		for (uint32_t half = sum[j] / 2; half > 0; half--) {
			struct number *p = number_from(prime[j - 1]);

			number_set(&right, multiply_modulo(right, p, n));
			number_drop(p);
		}
	free(sum);
	number_set(&left, number_compare(left, right) < 0 ? number_subtract(right, left)
							  : number_subtract(left, right));
	factor = number_gcd(n, left);
	number_drop(left);
	number_drop(right);
	return factor;
}

/* Adds @pivot to all others with an odd exponent there. */
static void eliminate(const struct relation *pivot, int bit)
{
	for (struct relation *r = relation; r < &relation[relations]; r++)
		if (r != pivot && has_bit(r, bit))
			for (int i = 0; i < ROW_WORDS; i++)
				r->row[i] ^= pivot->row[i];
}

/* A factor of @n that is neither 1 nor @n, or NULL. */
static struct number *solve(struct number *n)
{
	char is_pivot[PRIMES_MAX + SPARE] = { 0 };

	for (int bit = 0; bit <= primes; bit++)
		for (int i = 0; i < relations; i++)
			if (!is_pivot[i] && has_bit(&relation[i], bit)) {
				is_pivot[i] = 1;
				eliminate(&relation[i], bit);
				break;
			}
	for (int i = 0; i < relations; i++) {
		struct number *factor;

		if (is_pivot[i])
			continue;
		factor = try_product(n, &relation[i]);
		if (number_compare(factor, n) != 0 && (factor->length > 1 || factor->digit[0] > 1))
			return factor;
		number_drop(factor);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct number *n, *factor, *other, *product;
	int wanted = argc > 2 ? atoi(argv[2]) : 200;
	struct stopwatch watch;

	if (argc < 2 || wanted < 1 || wanted > PRIMES_MAX)
		return 2;
	stopwatch_start(&watch);
	n = number_parse(argv[1]);
	choose_primes(n, wanted);
	collect(n, primes + SPARE);
	factor = solve(n);
	if (!factor)
		return 3;
	other = number_quotient(n, factor);
	product = number_multiply(factor, other);
	if (number_compare(product, n) != 0)
		abort();
	stopwatch_print(&watch, allocations);
	number_print(factor);
	number_print(other);
	number_drop(n);
	number_drop(factor);
	number_drop(other);
	number_drop(product);
	return 0;
}
