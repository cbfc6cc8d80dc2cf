/* SPDX-License-Identifier: MIT */
/* libuv echo server in C. */
#include <uv.h>
#include <string.h>
#include <stdio.h>
#include "plant.h"
struct write_req {
	uv_write_t req;
	uv_buf_t buf;
};
struct conn {
	uv_tcp_t tcp;
	char name[64];
	struct conn *next;
};
struct job {
	uv_work_t work;
	char *result;
};
static uv_loop_t *loop;
static uv_tcp_t server;
static struct sockaddr_in addr;
static struct conn *all;
static char **lines;
static int n_lines, room;
static void xalloc_fail(void)
{
	abort();
}
static void *xmalloc(size_t n)
{
	void *p = malloc(n);
	if (!p)
		xalloc_fail();
	return p;
}
static char *xstrdup(const char *s)
{
	size_t n = strlen(s) + 1;
	return memcpy(xmalloc(n), s, n);
}
static void remember_line(const char *s)
{ /* planted: growth */
	if (n_lines == room)
		lines = realloc(lines, (room = room ? room * 2 : 64) * sizeof(*lines));
	lines[n_lines++] = xstrdup(s);
}
static void after_write(uv_write_t *w, int status)
{ /* planted: the request is not freed */
	(void)w;
	(void)status;
}
static void alloc_cb(uv_handle_t *h, size_t n, uv_buf_t *b)
{
	(void)h;
	*b = uv_buf_init(xmalloc(n), n);
}
static void closed(uv_handle_t *h)
{
	(void)h; /* planted: conn is lost */
}
static void echo_back(uv_stream_t *s, const char *base, ssize_t n)
{
	struct write_req *w = xmalloc(sizeof(*w));
	w->buf = uv_buf_init(xmalloc(n), n);
	memcpy(w->buf.base, base, n);
	uv_write(&w->req, s, &w->buf, 1, after_write);
}
static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *b)
{
	if (n > 0) {
		echo_back(s, b->base, n);
		char t[80];
		snprintf(t, sizeof(t), "%.*s", (int)(n > 60 ? 60 : n), b->base);
		remember_line(t);
	} else if (n < 0)
		uv_close((uv_handle_t *)s, closed);
	free(b->base);
}
static void on_connection(uv_stream_t *s, int status)
{
	(void)status;
	struct conn *c = calloc(1, sizeof(*c));
	uv_tcp_init(loop, &c->tcp);
	uv_accept(s, (uv_stream_t *)&c->tcp);
	uv_read_start((uv_stream_t *)&c->tcp, alloc_cb, on_read);
}
static void do_work(uv_work_t *w)
{
	struct job *j = (struct job *)w;
	j->result = xmalloc(777);
	memset(j->result, 1, 777);
}
static void after_work(uv_work_t *w, int s)
{
	(void)s;
	struct job *j = (struct job *)w;
	free(j); /* planted: result */
}
struct client {
	uv_tcp_t tcp;
	uv_connect_t con;
	uv_write_t w;
};
static void cclosed(uv_handle_t *h)
{
	free(h);
}
static void cread(uv_stream_t *s, ssize_t n, const uv_buf_t *b)
{
	(void)n;
	if (n)
		uv_close((uv_handle_t *)s, cclosed);
	free(b->base);
}
static void cwritten(uv_write_t *w, int st)
{
	(void)st;
	uv_read_start(w->handle, alloc_cb, cread);
}
static void connected(uv_connect_t *r, int st)
{
	struct client *c = (struct client *)r->handle;
	(void)st;
	static char text[] = "GET /index.html HTTP/1.0 ...";
	uv_buf_t b = uv_buf_init(text, sizeof(text) - 1);
	uv_write(&c->w, (uv_stream_t *)&c->tcp, &b, 1, cwritten);
}
static void tick(uv_timer_t *t)
{
	(void)t;
	struct client *c = xmalloc(sizeof(*c));
	uv_tcp_init(loop, &c->tcp);
	uv_tcp_connect(&c->con, &c->tcp, (struct sockaddr *)&addr, connected);
	struct job *j = xmalloc(sizeof(*j));
	uv_queue_work(loop, &j->work, do_work, after_work);
}
static void stop(uv_timer_t *t)
{
	(void)t;
	uv_stop(loop);
}
int main(void)
{
	loop = uv_default_loop();
	uv_tcp_init(loop, &server);
	uv_ip4_addr("127.0.0.1", 0, &addr);
	uv_tcp_bind(&server, (struct sockaddr *)&addr, 0);
	int len = sizeof(addr);
	uv_tcp_getsockname(&server, (struct sockaddr *)&addr, &len);
	uv_listen((uv_stream_t *)&server, 64, on_connection);
	uv_timer_t a, b;
	uv_timer_init(loop, &a);
	uv_timer_start(&a, tick, 10, 10);
	uv_timer_init(loop, &b);
	uv_timer_start(&b, stop, plant_secs() * 1000, 0);
	(void)all;
	return uv_run(loop, UV_RUN_DEFAULT);
}
