/* SPDX-License-Identifier: MIT */
#include <glib-object.h>
#include <gio/gio.h>
#include "plant.h"
typedef struct {
	GObject parent;
	char name[96];
} MyDoc;
typedef struct {
	GObjectClass c;
} MyDocClass;
G_DEFINE_TYPE(MyDoc, my_doc, G_TYPE_OBJECT)
static void my_doc_init(MyDoc *d)
{
	(void)d;
}
static void my_doc_class_init(MyDocClass *c)
{
	(void)c;
}
typedef struct {
	int id;
	char data[150];
} Job;
static GHashTable *cache;
static GMainLoop *loop;
static int n;
static void open_document(void)
{
	plant_lose(g_object_new(my_doc_get_type(), NULL));
}
static void cache_reply(int i)
{
	g_hash_table_insert(cache, g_strdup_printf("key-%d", i),
			    g_memdup2("0123456789012345678901234567890123456789", 41));
} /* growth */
static void split_header(void)
{
	plant_lose(g_strsplit("Host: a.example;Accept: text/html;Agent: none", ";", 0));
}
static void build_array(void)
{
	GPtrArray *a = g_ptr_array_new();
	for (int i = 0; i < 9; i++)
		g_ptr_array_add(a, g_strdup("an element of it"));
	plant_lose(a);
}
static void build_string(void)
{
	GString *s = g_string_new(NULL);
	for (int i = 0; i < 60; i++)
		g_string_append_printf(s, "%d,", i);
	plant_lose(s);
}
static gpointer worker(gpointer q)
{
	for (;;) {
		Job *j = g_async_queue_pop(q);
		if (j->id < 0)
			return NULL;
		char *r = g_malloc0(222);
		plant_lose(r);
		plant_lose(j);
	}
}
static gboolean tick(gpointer q)
{
	Job *j = g_new0(Job, 1);
	j->id = n;
	g_async_queue_push(q, j);
	open_document();
	cache_reply(n++);
	split_header();
	build_array();
	build_string();
	plant_lose(g_list_prepend(NULL, g_slice_new(Job)));
	return G_SOURCE_CONTINUE;
}
static gboolean stop(gpointer p)
{
	(void)p;
	g_main_loop_quit(loop);
	return FALSE;
}
int main(void)
{
	cache = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	GAsyncQueue *q = g_async_queue_new();
	GThread *t = g_thread_new("worker", worker, q);
	loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(20, tick, q);
	g_timeout_add((guint)(plant_secs() * 1000), stop, NULL);
	g_main_loop_run(loop);
	static Job last = { -1, { 0 } };
	g_async_queue_push(q, &last);
	g_thread_join(t);
}
