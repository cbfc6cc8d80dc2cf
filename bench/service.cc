/* SPDX-License-Identifier: MIT */
/*
 * service [REQUESTS [SESSIONS]]
 *
 * A server in C++ with 64 threads. Eight make requests of four kinds and free the answers, the
 * others serve them, whoever comes first, each on a session that lives on: documents of nested
 * lists and maps that are parsed, searched and written out by recursion below a chain of stages.
 * Some 50 MB are live, four fifths of the stacks are 15 to 37 deep, and what lives on is freed by
 * another thread.
 */
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "random.h"
#include "stopwatch.h"

enum { FRONTS = 8, WORKERS = 56, BATCH = 16, WAITING_MAX = 64, LEVELS = 9, HISTORY = 40 };

/* As where functions are in several files: the compiler would make one of five. */
#define OWN_FRAME __attribute__((noinline))

/* One of three: a text, a list, a map. */
struct value {
	std::string text;
	std::vector<std::shared_ptr<value>> items;
	std::map<std::string, std::shared_ptr<value>> fields;
};

struct session {
	std::mutex lock;
	std::shared_ptr<value> document;
	std::map<std::string, std::string> settings;
	std::deque<std::string> history;
};

struct request {
	unsigned kind;
	std::string name, body, answer;
	std::map<std::string, std::string> headers;
	std::shared_ptr<session> state;
};

using batch = std::vector<std::unique_ptr<request>>;

/* Batches on their way from thread to thread. */
class channel
{
      public:
	void put(batch &&b, size_t most)
	{
		std::unique_lock<std::mutex> hold(lock);
		changed.wait(hold, [&] { return waiting.size() < most; });
		waiting.push_back(std::move(b));
		changed.notify_all();
	}

	/* An empty one if there is none, or, to who waits, when there will be none any more. */
	batch take(bool is_waiting)
	{
		std::unique_lock<std::mutex> hold(lock);
		if (is_waiting)
			changed.wait(hold, [&] { return is_closed || !waiting.empty(); });
		if (waiting.empty())
			return {};
		batch b = std::move(waiting.front());
		waiting.pop_front();
		changed.notify_all();
		return b;
	}

	void close()
	{
		std::unique_lock<std::mutex> hold(lock);
		is_closed = true;
		changed.notify_all();
	}

      private:
	std::mutex lock;
	std::condition_variable changed;
	std::deque<batch> waiting;
	bool is_closed = false;
};

static channel arrived, served;
static std::map<std::string, std::shared_ptr<session>> sessions; /* not changed by threads */
static std::atomic<long> answers;

/* ---- documents: (item item) is a list, {name=value name=value} a map, the rest is text ---- */

OWN_FRAME static void write_random(std::string &out, uint64_t &state, int depth)
{
	uint32_t dice = random_next(&state) % 8;

	if (depth > 0 && (dice >= 4 || depth > 3)) {
		out += dice % 2 ? '(' : '{';
		/* One inside another at first, then several each. */
		for (uint32_t i = depth > 5 ? 1 : 2 + random_next(&state) % 3; i > 0; i--) {
			if (dice % 2 == 0)
				out += "field" + std::to_string(random_next(&state) % 100) + '=';
			write_random(out, state, depth - 1);
			out += ' ';
		}
		out += dice % 2 ? ')' : '}';
	} else {
		for (uint32_t i = 4 + random_next(&state) % 28; i > 0; i--)
			out += static_cast<char>('a' + random_next(&state) % 26);
	}
}

static std::shared_ptr<value> parse(const std::string &in, size_t &at);

OWN_FRAME static std::string parse_text(const std::string &in, size_t &at)
{
	size_t begin = at;

	at = std::min(in.find_first_of(" =)}", at), in.size());
	return in.substr(begin, at - begin);
}

OWN_FRAME static void parse_list(const std::string &in, size_t &at, value &v)
{
	for (at++; in[at] != ')'; at++)
		v.items.push_back(parse(in, at));
	at++;
}

OWN_FRAME static void parse_map(const std::string &in, size_t &at, value &v)
{
	for (at++; in[at] != '}'; at++) {
		std::string name = parse_text(in, at);

		v.fields[name] = parse(in, ++at);
	}
	at++;
}

OWN_FRAME static std::shared_ptr<value> parse(const std::string &in, size_t &at)
{
	auto v = std::make_shared<value>();

	if (in[at] == '(')
		parse_list(in, at, *v);
	else if (in[at] == '{')
		parse_map(in, at, *v);
	else
		v->text = parse_text(in, at);
	return v;
}

OWN_FRAME static std::string show(const value &v)
{
	std::string out = v.text;

	for (const auto &item : v.items)
		out += "<li>" + show(*item) + "</li>";
	for (const auto &[name, field] : v.fields)
		out += "<b>" + name + "</b>: " + show(*field) + "\n";
	return out;
}

OWN_FRAME static void search(const value &v, const std::string &wanted,
			     std::vector<std::string> &found)
{
	if (v.text.find(wanted) != std::string::npos)
		found.push_back(v.text);
	for (const auto &item : v.items)
		search(*item, wanted, found);
	for (const auto &[name, field] : v.fields)
		search(*field, wanted, found);
}

/* ---- what is done with a request ---- */

struct stage {
	virtual ~stage() = default;
	virtual void serve(request &r, const stage *const *next) const = 0;
};

/*
 * Notes something of the request, as one that limits, logs or translates does, and passes it on.
 * One class for each, so that each has a function of its own.
 */
template <int> struct note : stage {
	explicit note(const char *name) : header(name)
	{
	}

	OWN_FRAME void serve(request &r, const stage *const *next) const override
	{
		r.headers[header] = r.name + ' ' + std::to_string(r.body.size());
		(*next)->serve(r, next + 1);
		r.headers.erase(header);
	}

	std::string header;
};

struct find_session : stage {
	OWN_FRAME void serve(request &r, const stage *const *next) const override
	{
		r.state = sessions.at(r.name);
		std::lock_guard<std::mutex> hold(r.state->lock);
		(*next)->serve(r, next + 1);
	}
};

struct store : stage {
	OWN_FRAME void serve(request &r, const stage *const *) const override
	{
		size_t at = 0;

		r.state->document = parse(r.body, at);
		r.answer = std::to_string(at) + " read";
	}
};

struct render : stage {
	OWN_FRAME void serve(request &r, const stage *const *) const override
	{
		r.answer = "<html>" + show(*r.state->document) + "</html>";
	}
};

struct lookup : stage {
	OWN_FRAME void serve(request &r, const stage *const *) const override
	{
		std::vector<std::string> found;

		search(*r.state->document, r.body.substr(0, 1), found);
		std::sort(found.begin(), found.end());
		for (const std::string &text : found)
			r.answer += text + '\n';
		r.answer += std::to_string(found.size()) + " found";
	}
};

struct remember : stage {
	OWN_FRAME void serve(request &r, const stage *const *) const override
	{
		session &s = *r.state;

		s.history.push_back(r.body.substr(0, 100));
		if (s.history.size() > HISTORY)
			s.history.pop_front();
		s.settings["setting" + std::to_string(r.body.size() % 16)] = r.body.substr(0, 24);
		r.answer = std::to_string(s.history.size()) + " remembered";
	}
};

static const note<0> logged("log");
static const note<1> limited("limit");
static const note<2> timed("time");
static const note<3> traced("trace");
static const note<4> routed("route");
static const note<5> unpacked("unpack");
static const note<6> checked("check");
static const note<7> cached("cache");
static const note<8> encoded("encode");
static const note<9> allowed("allow");
static const note<10> counted("count");
static const note<11> matched("match");
static const find_session finding;
static const store storing;
static const render rendering;
static const lookup looking_up;
static const remember remembering;

enum { KINDS = 4, STAGES_MAX = 16 };
static const stage *const chain[KINDS][STAGES_MAX] = {
	{ &logged, &limited, &timed, &traced, &routed, &unpacked, &allowed, &checked, &finding,
	  &storing },
	{ &logged, &limited, &timed, &traced, &routed, &cached, &encoded, &allowed, &unpacked,
	  &counted, &matched, &checked, &finding, &rendering },
	{ &logged, &limited, &timed, &traced, &routed, &allowed, &matched, &finding, &looking_up },
	{ &logged, &limited, &timed, &traced, &routed, &counted, &allowed, &checked, &finding,
	  &remembering },
};

OWN_FRAME static void serve(request &r)
{
	chain[r.kind][0]->serve(r, &chain[r.kind][1]);
	r.state.reset();
}

static std::unique_ptr<request> make_request(unsigned kind, size_t number, uint64_t &state)
{
	auto r = std::make_unique<request>();

	r->kind = kind;
	r->name = "session-number-" + std::to_string(number);
	write_random(r->body, state, kind == 0 ? LEVELS : 2);
	return r;
}

/* Frees the answers that are there. */
static void collect(bool is_waiting)
{
	for (batch b = served.take(is_waiting); !b.empty(); b = served.take(is_waiting))
		for (const auto &r : b)
			answers += !r->answer.empty();
}

static void front(unsigned number, long requests)
{
	uint64_t state = random_seed(number + 1);

	while (requests > 0) {
		batch b;

		for (; requests > 0 && b.size() < BATCH; requests--)
			b.push_back(make_request(random_next(&state) % KINDS,
						 random_next(&state) % sessions.size(), state));
		arrived.put(std::move(b), WAITING_MAX);
		collect(false);
	}
}

static void work()
{
	for (batch b = arrived.take(true); !b.empty(); b = arrived.take(true)) {
		for (const auto &r : b)
			serve(*r);
		served.put(std::move(b), SIZE_MAX);
	}
}

static void run(long requests)
{
	std::vector<std::thread> fronts, workers;

	for (unsigned i = 0; i < FRONTS; i++)
		fronts.emplace_back(front, i, requests / FRONTS);
	for (unsigned i = 0; i < WORKERS; i++)
		workers.emplace_back(work);
	for (std::thread &t : fronts)
		t.join();
	arrived.close();
	for (std::thread &t : workers)
		t.join();
	served.close();
	collect(true);
}

int main(int argc, char **argv)
{
	long requests = argc > 1 ? strtol(argv[1], nullptr, 10) : 40000;
	size_t count = argc > 2 ? strtoul(argv[2], nullptr, 10) : 3000;
	uint64_t state = random_seed(0);
	stopwatch watch;

	for (size_t i = 0; i < count; i++) {
		auto first = make_request(0, i, state);

		sessions[first->name] = std::make_shared<session>();
		serve(*first);
	}
	stopwatch_start(&watch);
	run(requests);
	/* Of a request, with some 130 allocations. */
	stopwatch_print(&watch, static_cast<double>(requests));
	if (answers != requests / FRONTS * FRONTS)
		abort();
	return 0;
}
