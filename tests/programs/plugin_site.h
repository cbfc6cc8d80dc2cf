/* SPDX-License-Identifier: MIT */
/*
 * The body of a plugin: an entry that reaches its allocating function through frames of a size of
 * the plugin's own. Two plugins made from it fit the same addresses but unwind differently, so
 * rules remembered from the one are wrong in the other. PLUGIN is the letter in the names.
 */
#ifndef TESTS_PROGRAMS_PLUGIN_SITE_H
#define TESTS_PROGRAMS_PLUGIN_SITE_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PLUGIN_PASTE(a, b, c) a##b##c
#define PLUGIN_NAME(letter, rest) PLUGIN_PASTE(plugin_, letter, rest)

#define PLUGIN_BODY(letter, frame_bytes)                                                    \
	void *plugin_entry(size_t bytes);                                                   \
	static __attribute__((noipa, used)) void *PLUGIN_NAME(letter, _alloc)(size_t bytes) \
	{                                                                                   \
		volatile char frame[frame_bytes];                                           \
		void *block;                                                                \
                                                                                            \
		frame[0] = frame[(frame_bytes)-1] = 1;                                      \
		block = malloc(bytes);                                                      \
		frame[0] = 2;                                                               \
		return block;                                                               \
	}                                                                                   \
	static __attribute__((noipa, used)) void *PLUGIN_NAME(letter, _deep)(size_t bytes,  \
									     int depth)     \
	{                                                                                   \
		volatile char frame[2 * (frame_bytes)];                                     \
		void *block;                                                                \
                                                                                            \
		frame[0] = frame[(frame_bytes)-1] = 1;                                      \
		block = depth ? PLUGIN_NAME(letter, _deep)(bytes, depth - 1)                \
			      : PLUGIN_NAME(letter, _alloc)(bytes);                         \
		frame[0] = 2;                                                               \
		return block;                                                               \
	}                                                                                   \
	void *plugin_entry(size_t bytes)                                                    \
	{                                                                                   \
		void *block = PLUGIN_NAME(letter, _deep)(bytes, 3);                         \
                                                                                            \
		if (block)                                                                  \
			memset(block, 0, bytes);                                            \
		return block;                                                               \
	}

#endif
