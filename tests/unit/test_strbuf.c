/* SPDX-License-Identifier: MIT */
/* The growing text: contents, the ceiling, ownership. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/xalloc.h"

static void empty_buffer_has_readable_text(void **state)
{
	struct seep_strbuf buf;

	(void)state;
	seep_strbuf_init(&buf, 10);
	assert_string_equal(buf.text, "");
	assert_int_equal(buf.length, 0);
	seep_strbuf_done(&buf);
	seep_strbuf_done(&buf);
}

static void additions_append_in_order(void **state)
{
	struct seep_strbuf buf;

	(void)state;
	seep_strbuf_init(&buf, 1000);
	seep_strbuf_adds(&buf, "one");
	seep_strbuf_addc(&buf, ' ');
	seep_strbuf_addf(&buf, "%d-%s", 2, "three");
	seep_strbuf_adds(&buf, "...");
	seep_strbuf_add(&buf, "a\0b", 3);
	assert_memory_equal(buf.text, "one 2-three...a\0b", 18);
	assert_int_equal(buf.length, 17);
	assert_false(buf.overflowed);
	seep_strbuf_done(&buf);
}

static void growth_keeps_what_was_there(void **state)
{
	struct seep_strbuf buf;

	(void)state;
	seep_strbuf_init(&buf, 1 << 20);
	for (int i = 0; i < 10000; i++)
		seep_strbuf_addc(&buf, (char)('a' + i % 26));
	assert_int_equal(buf.length, 10000);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(buf.text[i], 'a' + i % 26);
	assert_int_equal(buf.text[10000], 0);
	seep_strbuf_done(&buf);
}

static void addition_past_the_ceiling_is_left_out_whole(void **state)
{
	struct seep_strbuf buf;

	(void)state;
	seep_strbuf_init(&buf, 5);
	seep_strbuf_adds(&buf, "12345");
	assert_false(buf.overflowed);
	seep_strbuf_cut(&buf, 3);
	seep_strbuf_addf(&buf, "%s", "abc");
	assert_true(buf.overflowed);
	assert_string_equal(buf.text, "123");
	/* Sticky: a later piece that would fit must not close the gap. */
	seep_strbuf_addc(&buf, 'x');
	assert_string_equal(buf.text, "123");
	seep_strbuf_clear(&buf);
	seep_strbuf_adds(&buf, "ok");
	assert_string_equal(buf.text, "ok");
	assert_false(buf.overflowed);
	seep_strbuf_done(&buf);
}

static void taken_text_belongs_to_the_caller(void **state)
{
	struct seep_strbuf buf;
	char *text;

	(void)state;
	seep_strbuf_init(&buf, 100);
	seep_strbuf_adds(&buf, "mine");
	text = seep_strbuf_take(&buf);
	assert_string_equal(text, "mine");
	assert_string_equal(buf.text, "");
	free(text);
	text = seep_strbuf_take(&buf);
	assert_string_equal(text, "");
	free(text);
	seep_strbuf_done(&buf);
}

static void grown_array_keeps_items_and_has_room(void **state)
{
	size_t capacity = 0;
	int *items = NULL;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		items = seep_xgrow(items, &capacity, (size_t)i + 1, sizeof(*items));
		assert_true(capacity > (size_t)i);
		items[i] = i;
	}
	for (int i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	free(items);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_buffer_has_readable_text),
		cmocka_unit_test(additions_append_in_order),
		cmocka_unit_test(growth_keeps_what_was_there),
		cmocka_unit_test(addition_past_the_ceiling_is_left_out_whole),
		cmocka_unit_test(taken_text_belongs_to_the_caller),
		cmocka_unit_test(grown_array_keeps_items_and_has_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
