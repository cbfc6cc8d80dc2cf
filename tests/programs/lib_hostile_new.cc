/* SPDX-License-Identifier: MIT */
// build: -std=c++17
/* Replaced operators in a library with the usual symbol hash table. */
#include "hostile_new_body.h"
