/* SPDX-License-Identifier: MIT */
#define MOVED
#include "moved.h"
