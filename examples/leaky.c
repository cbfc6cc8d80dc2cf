/* SPDX-License-Identifier: MIT */
/*
 * A small service with the usual troubles, for trying seep on. It answers the same 20,000 requests
 * in every run and ends with what it knows about its own memory:
 *
 *	session_remember()  a cache that only grows: 5,000 sessions of 400 bytes and their names
 *	render_page()       temporary strings, allocated and freed at once, many times per request
 *	receive_upload()    forgets an upload whose checksum is wrong: 80 of 64 bytes, each with its
 *	                    body of 4,096
 *	load_settings()     allocated at the start, needed until the end: nothing wrong with it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	REQUESTS = 20000,
	USERS = 5000,
	SETTINGS = 200,
	UPLOAD_EVERY = 50,
	BAD_UPLOAD_EVERY = 5, /* of the uploads */
	BODY_BYTES = 4096,
};

struct request {
	char *method;
	char *path;
	unsigned user;
};

struct session {
	struct session *next;
	char *name;
	unsigned visits;
	char preferences[380];
};

struct upload {
	unsigned char *body;
	size_t body_bytes;
	char file_name[48];
};

static struct session *sessions[1024];
static char *settings[SETTINGS];
static unsigned bad_uploads;
static size_t bytes_sent;

static void *need(void *block)
{
	if (!block) {
		fputs("leaky: out of memory\n", stderr);
		exit(1);
	}
	return block;
}

static void load_settings(void)
{
	for (unsigned i = 0; i < SETTINGS; i++) {
		settings[i] = need(malloc(64));
		snprintf(settings[i], 64, "setting-%u=value-%u", i, i * 7);
	}
}

static struct request *parse_request(const char *line)
{
	struct request *request = need(malloc(sizeof(*request)));
	const char *space = strchr(line, ' ');

	request->method = need(strndup(line, (size_t)(space - line)));
	request->path = need(strdup(space + 1));
	request->user = (unsigned)strtoul(strrchr(line, '/') + 1, NULL, 10);
	return request;
}

static void free_request(struct request *request)
{
	free(request->method);
	free(request->path);
	free(request);
}

/* Every user is remembered, none is ever forgotten. */
static struct session *session_remember(unsigned user)
{
	struct session **bucket = &sessions[user % 1024];
	struct session *session;
	char name[32];

	snprintf(name, sizeof(name), "user-%06u", user);
	for (session = *bucket; session; session = session->next) {
		if (strcmp(session->name, name) == 0)
			return session;
	}
	session = need(calloc(1, sizeof(*session)));
	session->name = need(strdup(name));
	session->next = *bucket;
	*bucket = session;
	return session;
}

/* The text with one more piece at its end: a new block for each piece. */
static char *append(char *text, const char *piece)
{
	size_t length = text ? strlen(text) : 0;
	char *longer = need(malloc(length + strlen(piece) + 1));

	if (text)
		memcpy(longer, text, length);
	strcpy(longer + length, piece);
	free(text);
	return longer;
}

static char *escape_html(const char *text)
{
	char *out = need(malloc(6 * strlen(text) + 1));
	char *at = out;

	for (; *text; text++) {
		if (*text == '<' || *text == '>' || *text == '&')
			at += sprintf(at, "&#%d;", *text);
		else
			*at++ = *text;
	}
	*at = '\0';
	return out;
}

static void render_page(const struct request *request, const struct session *session)
{
	char *page = append(NULL, "<h1>");

	for (unsigned i = 0; i < 5; i++) {
		char *cell = escape_html(i % 2 ? request->path : session->name);

		page = append(page, cell);
		free(cell);
	}
	page = append(page, "</h1>");
	bytes_sent += strlen(page);
	free(page);
}

static unsigned checksum(const unsigned char *body, size_t bytes)
{
	unsigned sum = 0;

	for (size_t i = 0; i < bytes; i++)
		sum = sum * 31 + body[i];
	return sum;
}

/* Returns whether the upload was stored. The early return is the leak. */
static int receive_upload(unsigned number)
{
	struct upload *upload = need(malloc(sizeof(*upload)));
	unsigned claimed;

	snprintf(upload->file_name, sizeof(upload->file_name), "upload-%u.bin", number);
	upload->body_bytes = BODY_BYTES;
	upload->body = need(malloc(upload->body_bytes));
	memset(upload->body, (int)(number & 0xff), upload->body_bytes);
	claimed = checksum(upload->body, upload->body_bytes) + (number % BAD_UPLOAD_EVERY == 0);
	if (claimed != checksum(upload->body, upload->body_bytes))
		return 0;
	free(upload->body);
	free(upload);
	return 1;
}

static void handle_request(unsigned number)
{
	struct request *request;
	struct session *session;
	char line[64];

	snprintf(line, sizeof(line), "GET /pages/<%u>/%u", number % 7, number * 7919 % USERS);
	request = parse_request(line);
	session = session_remember(request->user);
	session->visits++;
	bytes_sent += strlen(settings[number % SETTINGS]);
	render_page(request, session);
	if (number % UPLOAD_EVERY == 0 && !receive_upload(number / UPLOAD_EVERY))
		bad_uploads++;
	free_request(request);
}

int main(void)
{
	unsigned session_count = 0;

	load_settings();
	for (unsigned number = 0; number < REQUESTS; number++)
		handle_request(number);
	for (unsigned i = 0; i < 1024; i++) {
		for (struct session *session = sessions[i]; session; session = session->next)
			session_count++;
	}
	printf("answered %d requests with %zu bytes\n", REQUESTS, bytes_sent);
	printf("kept %u sessions of %zu bytes, lost %u uploads of %zu + %d bytes\n", session_count,
	       sizeof(struct session), bad_uploads, sizeof(struct upload), BODY_BYTES);
	return 0;
}
