/* SPDX-License-Identifier: MIT */
#include "base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

size_t seep_terminal_width(int fd, size_t fallback)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : fallback;
}

bool seep_terminal_color(int fd)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return (!no_color || !*no_color) && term && strcmp(term, "dumb") != 0 && isatty(fd);
}

size_t seep_utf8_decode(const char *text, size_t bytes, unsigned *ret_code)
{
	const unsigned char *at = (const unsigned char *)text;
	static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned code;
	size_t length;

	if (at[0] < 0x80) {
		*ret_code = at[0];
		return 1;
	}
	if (at[0] >= 0xc2 && at[0] < 0xe0)
		length = 2;
	else if (at[0] >= 0xe0 && at[0] < 0xf0)
		length = 3;
	else if (at[0] >= 0xf0 && at[0] < 0xf5)
		length = 4;
	else
		return 0;
	if (length > bytes)
		return 0;
	code = at[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	*ret_code = code;
	return length;
}

bool seep_utf8_is_unsafe(unsigned code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c ||
	       (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069) || code == 0xfeff || code == 0xfffe ||
	       code == 0xffff;
}

static void escape_bytes(struct seep_strbuf *buf, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		if (text[i] == '\t')
			seep_strbuf_adds(buf, "\\t");
		else if (text[i] == '\n')
			seep_strbuf_adds(buf, "\\n");
		else
			seep_strbuf_addf(buf, "\\x%02x", (unsigned)(unsigned char)text[i]);
	}
}

void seep_escape(struct seep_strbuf *buf, const char *text, size_t bytes)
{
	size_t safe = 0; /* bytes at the front that need nothing */

	while (safe < bytes) {
		unsigned code;
		size_t length = seep_utf8_decode(text + safe, bytes - safe, &code);

		if (length && !seep_utf8_is_unsafe(code)) {
			safe += length;
			continue;
		}
		if (!length)
			length = 1;
		seep_strbuf_add(buf, text, safe);
		escape_bytes(buf, text + safe, length);
		text += safe + length;
		bytes -= safe + length;
		safe = 0;
	}
	seep_strbuf_add(buf, text, safe);
}

char *seep_escape_dup(const char *text)
{
	return seep_escape_bytes(text, strlen(text));
}

char *seep_escape_bytes(const char *text, size_t bytes)
{
	SEEP_STRBUF(buf, 4 * bytes);

	/* Every byte becomes four at most, so the ceiling is never reached. */
	seep_escape(&buf, text, bytes);
	return seep_strbuf_take(&buf);
}

/* Close enough for function names: marks that take no column, scripts that take two. */
static size_t code_width(unsigned code)
{
	if (code < 0x300)
		return 1;
	if (code <= 0x36f || (code >= 0x200b && code <= 0x200d) ||
	    (code >= 0xfe00 && code <= 0xfe0f) || (code >= 0x20d0 && code <= 0x20ff))
		return 0;
	if ((code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
	    (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
	    (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
	    (code >= 0xffe0 && code <= 0xffe6) || (code >= 0x1f300 && code <= 0x1faff) ||
	    (code >= 0x20000 && code <= 0x3fffd))
		return 2;
	return 1;
}

size_t seep_display_fit(const char *text, size_t bytes, size_t columns, size_t *ret_columns)
{
	size_t used = 0;
	size_t at = 0;

	while (at < bytes) {
		unsigned code = 0;
		size_t length = seep_utf8_decode(text + at, bytes - at, &code);
		size_t width = length ? code_width(code) : 1;

		if (width > columns - used)
			break;
		used += width;
		at += length ? length : 1;
	}
	if (ret_columns)
		*ret_columns = used;
	return at;
}

size_t seep_display_width(const char *text, size_t bytes)
{
	size_t columns;

	(void)seep_display_fit(text, bytes, (size_t)-1, &columns);
	return columns;
}
