/* SPDX-License-Identifier: MIT */
/* The growing text: contents, the ceiling, ownership. */
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/xalloc.h"
#include "unit.h"

TEST(empty_buffer_has_readable_text)
{
	struct seep_strbuf buf;

	buf = seep_strbuf_of(10);
	assert_string_equal(buf.text, "");
	assert_int_equal(buf.length, 0);
	seep_strbuf_done(&buf);
	seep_strbuf_done(&buf);
}

TEST(additions_append_in_order)
{
	struct seep_strbuf buf;

	buf = seep_strbuf_of(1000);
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

TEST(growth_keeps_what_was_there)
{
	struct seep_strbuf buf;

	buf = seep_strbuf_of(1 << 20);
	for (int i = 0; i < 10000; i++)
		seep_strbuf_addc(&buf, (char)('a' + i % 26));
	assert_int_equal(buf.length, 10000);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(buf.text[i], 'a' + i % 26);
	assert_int_equal(buf.text[10000], 0);
	seep_strbuf_done(&buf);
}

TEST(addition_past_the_ceiling_is_left_out_whole)
{
	struct seep_strbuf buf;

	buf = seep_strbuf_of(5);
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

TEST(taken_text_belongs_to_the_caller)
{
	struct seep_strbuf buf;
	char *text;

	buf = seep_strbuf_of(100);
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

TEST(grown_array_keeps_items_and_has_room)
{
	size_t capacity = 0;
	int *items = NULL;

	for (int i = 0; i < 1000; i++) {
		items = seep_xgrow(items, &capacity, (size_t)i + 1, sizeof(*items));
		assert_true(capacity > (size_t)i);
		items[i] = i;
	}
	for (int i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	free(items);
}
