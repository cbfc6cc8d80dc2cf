// SPDX-License-Identifier: MIT
#include "pbuf.pb.h"
#include <google/protobuf/arena.h>
#include <thread>
#include <map>
#include "plant.h"
static std::map<int, shop::Conn> conns;
static shop::Invoice *parse_invoice(const std::string &s)
{
	auto *v = new shop::Invoice;
	v->ParseFromString(s);
	return v;
}
static void lose_conn(int i)
{
	auto *c = new shop::Conn;
	c->set_fd(i);
	c->set_buf(std::string(250, 'z'));
	plant_lose(c);
}
static void open_conn(int i)
{
	conns[i].set_buf(std::string(90, 'q'));
} // growth
static void lose_text(const shop::Invoice &v)
{
	plant_lose(new std::string(v.DebugString()));
}
struct Handler {
	virtual ~Handler() = default;
	virtual void run(const std::string &) = 0;
};
template <class M> struct Typed : Handler {
	void run(const std::string &s) override
	{
		M *m = new M;
		m->ParseFromString(s);
		plant_lose(m);
	}
};
int main()
{
	shop::Invoice v;
	v.set_who("a customer with a name that is long");
	for (int i = 0; i < 3; i++) {
		auto *l = v.add_line();
		l->set_what("an article which has a long name");
		l->set_n(i);
	}
	(*v.mutable_tax())["vat of the year"] = 7;
	std::string wire = v.SerializeAsString();
	shop::Line line;
	line.set_what("a line that is parsed");
	std::string wl = line.SerializeAsString();
	Typed<shop::Line> tl;
	Typed<shop::Conn> tc;
	Handler *h[] = { &tl, &tc };
	for (int i = 0; i < int(plant_secs() * 50); i++) {
		plant_lose(parse_invoice(wire));
		lose_conn(i);
		open_conn(i);
		lose_text(v);
		h[0]->run(wl);
		h[1]->run("");
		auto *a = new google::protobuf::Arena;
		google::protobuf::Arena::CreateMessage<shop::Invoice>(a)->set_who("x");
		plant_lose(a);
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
	}
}
