/* SPDX-License-Identifier: MIT */
/* A Lua module in C: planted leaks in user's C functions that Lua calls. */
#include "lua.h"
#include "lauxlib.h"
#include "lualib.h"
#include <string.h>
#include <unistd.h>
#include "plant.h"
struct point {
	double x, y;
	char tag[80];
};
static int l_point(lua_State *L)
{
	struct point *p = malloc(sizeof(*p));
	p->x = luaL_checknumber(L, 1);
	plant_lose(p);
	return 0;
}
static int l_digest(lua_State *L)
{
	size_t n;
	const char *s = luaL_checklstring(L, 1, &n);
	char *d = malloc(2 * n + 1);
	memcpy(d, s, n);
	plant_lose(d);
	return 0;
}
static int l_buffer(lua_State *L)
{
	struct point *p = lua_newuserdatauv(L, sizeof(*p), 1);
	memset(p, 0, sizeof(*p));
	return 1;
}
static int l_sleep(lua_State *L)
{
	usleep((useconds_t)(luaL_checknumber(L, 1) * 1e6));
	return 0;
}
static void lose_state(void)
{
	lua_State *L = luaL_newstate();
	plant_lose(L);
}
static int l_state(lua_State *L)
{
	(void)L;
	lose_state();
	return 0;
}
int main(void)
{
	lua_State *L = luaL_newstate();
	luaL_openlibs(L);
	lua_register(L, "point", l_point);
	lua_register(L, "digest", l_digest);
	lua_register(L, "buffer", l_buffer);
	lua_register(L, "sleep", l_sleep);
	lua_register(L, "state", l_state);
	lua_pushnumber(L, plant_secs() * 50);
	lua_setglobal(L, "N");
	return luaL_dostring(
		       L,
		       "history = {} for i = 1, N do point(i) digest(string.rep('k', 100)) history[#history + 1] = buffer() .. '' or 1 end") ==
		       99 ||
	       luaL_dostring(
		       L,
		       "history = {} names = {} for i = 1, N do point(i) digest(string.rep('k', 100)) history[#history + 1] = buffer() names['customer ' .. i] = { i, tostring(i) } if i % 10 == 0 then state() end sleep(0.02) end");
}
