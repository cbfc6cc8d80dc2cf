/* SPDX-License-Identifier: MIT */
#include "moved.h"
