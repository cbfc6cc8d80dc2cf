/* SPDX-License-Identifier: MIT */
/*
 * Patterns of names: '*' any bytes, '?' one byte, "[abc]" "[a-z]" "[!a]" one of (none of) these;
 * every other byte stands for itself, and so does a '[' without its ']'. No locale, no allocation,
 * and no recursion: the time is bounded by the product of the lengths.
 */
#ifndef SEEP_CORE_GLOB_H
#define SEEP_CORE_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core_glob {
	const char *text;
	size_t bytes;
};

/* The bytes of the class that begins at glob.text[@at], a '['; 0: it has no end. */
static inline size_t core_glob_class_bytes(struct core_glob glob, size_t at)
{
	size_t end = at + 1;

	if (end < glob.bytes && glob.text[end] == '!')
		end++;
	/* A ']' that comes first is one of the bytes. */
	if (end < glob.bytes)
		end++;
	while (end < glob.bytes && glob.text[end] != ']')
		end++;
	return end < glob.bytes ? end + 1 - at : 0;
}

static inline bool core_glob_class_has(struct core_glob glob, size_t at, size_t bytes, char c)
{
	size_t end = at + bytes - 1;
	bool negated = glob.text[at + 1] == '!';
	bool found = false;

	for (size_t i = at + 1 + negated; i < end; i++) {
		unsigned char first = (unsigned char)glob.text[i];
		unsigned char last = first;

		if (i + 2 < end && glob.text[i + 1] == '-') {
			last = (unsigned char)glob.text[i + 2];
			i += 2;
		}
		found |= (unsigned char)c >= first && (unsigned char)c <= last;
	}
	return found != negated;
}

/* Does the one-byte pattern at @at stand for @c? @ret_bytes: its length. */
static inline bool core_glob_one(struct core_glob glob, size_t at, char c, size_t *ret_bytes)
{
	size_t bytes = glob.text[at] == '[' ? core_glob_class_bytes(glob, at) : 0;

	*ret_bytes = bytes ? bytes : 1;
	if (bytes)
		return core_glob_class_has(glob, at, bytes, c);
	return glob.text[at] == '?' || glob.text[at] == c;
}

/* Is all of @name what @glob stands for? */
static inline bool core_glob_match(struct core_glob glob, const char *name, size_t name_bytes)
{
	size_t at = 0, star = SIZE_MAX, retry = 0;
	size_t i = 0;

	while (i < name_bytes) {
		size_t bytes;

		if (at < glob.bytes && glob.text[at] == '*') {
			star = at++;
			retry = i;
		} else if (at < glob.bytes && core_glob_one(glob, at, name[i], &bytes)) {
			at += bytes;
			i++;
		} else if (star != SIZE_MAX) {
			/* The last '*' takes one byte more. */
			at = star + 1;
			i = ++retry;
		} else {
			return false;
		}
	}
	while (at < glob.bytes && glob.text[at] == '*')
		at++;
	return at == glob.bytes;
}

/*
 * A list "GLOB,GLOB,!GLOB": names that match a glob with '!' are out; of the others all are in if
 * every glob has one, else those that match a glob without.
 */
static inline bool core_glob_list_match(const char *list, const char *name, size_t name_bytes)
{
	bool has_wanted = false, is_wanted = false;

	while (*list) {
		bool negated = *list == '!';
		struct core_glob glob = { list + negated, 0 };

		while (glob.text[glob.bytes] && glob.text[glob.bytes] != ',')
			glob.bytes++;
		list = glob.text + glob.bytes + (glob.text[glob.bytes] == ',');
		if (glob.bytes == 0)
			continue;
		has_wanted |= !negated;
		if (!core_glob_match(glob, name, name_bytes))
			continue;
		if (negated)
			return false;
		is_wanted = true;
	}
	return is_wanted || !has_wanted;
}

#endif
