/* SPDX-License-Identifier: MIT */
#include "runtime/rt.h"

__thread struct rt_tls rt_tls __attribute__((tls_model("initial-exec")));
struct rt_mine rt_mine;
struct ledger_header rt_header;
_Alignas(64) struct rt_global rt_global = { .state = &rt_nowhere };
struct ledger_state rt_nowhere;
_Atomic uint32_t rt_unusual;
_Atomic uint32_t rt_threads;
