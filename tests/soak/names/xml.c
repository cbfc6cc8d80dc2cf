/* SPDX-License-Identifier: MIT */
#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <libxml/tree.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>
#include "plant.h"
struct feed {
	char title[64];
	struct feed *next;
};
static struct feed *feeds;
static xmlDocPtr parse_feed(const char *s)
{
	return xmlReadMemory(s, (int)strlen(s), "feed.xml", NULL, 0);
}
static void lose_document(void)
{
	xmlDocPtr d = parse_feed("<r><a>one</a><b x='1'>two</b></r>");
	plant_lose(d);
}
static void lose_content(xmlDocPtr d)
{
	xmlChar *c = xmlNodeGetContent(xmlDocGetRootElement(d));
	plant_lose(c);
}
static void lose_xpath(xmlDocPtr d)
{
	xmlXPathContextPtr c = xmlXPathNewContext(d);
	xmlXPathObjectPtr o = xmlXPathEvalExpression((xmlChar *)"//a", c);
	plant_lose(o);
	xmlXPathFreeContext(c);
}
static void add_feed(const char *t)
{
	struct feed *f = malloc(sizeof(*f));
	snprintf(f->title, sizeof(f->title), "%s", t);
	f->next = feeds;
	feeds = f;
} /* growth */
static void detach_node(xmlDocPtr d)
{
	xmlNodePtr n = xmlNewDocNode(d, NULL, (xmlChar *)"lost", (xmlChar *)"node with text");
	plant_lose(n);
}
static char *dump(xmlDocPtr d)
{
	xmlChar *o;
	int n;
	xmlDocDumpMemory(d, &o, &n);
	return (char *)o;
}
int main(void)
{
	xmlDocPtr d = parse_feed("<r><a>hello</a><a>world</a></r>");
	for (int i = 0; i < (int)(plant_secs() * 50); i++) {
		lose_document();
		lose_content(d);
		lose_xpath(d);
		add_feed("a feed");
		detach_node(d);
		plant_lose(dump(d));
		usleep(20000);
	}
	xmlFreeDoc(d);
}
