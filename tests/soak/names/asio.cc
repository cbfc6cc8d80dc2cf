// SPDX-License-Identifier: MIT
// Boost.Asio echo server and its client in one process.
#include <boost/asio.hpp>
#include <memory>
#include <map>
#include <deque>
#include <functional>
#include <iostream>
#include "plant.h"
using boost::asio::ip::tcp;
struct Request {
	int id;
	char head[120];
	std::string body;
};
struct Reply {
	int id;
	char data[200];
};
struct AuditLine {
	std::string who;
	long when[6];
};
struct Timeout {
	int what[20];
};
class Session : public std::enable_shared_from_this<Session>
{
      public:
	Session(tcp::socket s) : sock(std::move(s))
	{
	}
	void start()
	{
		read();
	}
	void keep_self()
	{
		hold = [self = shared_from_this()] { return self->buf[0]; };
	} // planted: cycle
      private:
	void read()
	{
		auto self = shared_from_this();
		sock.async_read_some(boost::asio::buffer(buf), [this,
								self](boost::system::error_code ec,
								      std::size_t n) {
			if (ec)
				return;
			if (n > 0 && buf[0] == 'x')
				keep_self();
			auto *r = new Request{ int(n), {}, std::string(300, 'b') }; // planted: lost
			plant_lose(r);
			write(n);
		});
	}
	void write(std::size_t n)
	{
		auto self = shared_from_this();
		boost::asio::async_write(sock, boost::asio::buffer(buf, n),
					 [this, self](boost::system::error_code ec, std::size_t) {
						 if (ec)
							 return;
						 plant_lose(new Reply{ 1, {} }); // planted: lost
						 read();
					 });
	}
	tcp::socket sock;
	char buf[1024];
	std::function<int()> hold;
};
std::map<std::string, std::shared_ptr<AuditLine>> audit;
class Server
{
      public:
	Server(boost::asio::io_context &io)
	    : acc(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)), timer(io)
	{
		accept();
		tick();
	}
	int port()
	{
		return acc.local_endpoint().port();
	}

      private:
	void accept()
	{
		acc.async_accept([this](boost::system::error_code ec, tcp::socket s) {
			if (!ec)
				std::make_shared<Session>(std::move(s))->start();
			accept();
		});
	}
	void tick()
	{
		timer.expires_after(std::chrono::milliseconds(20));
		timer.async_wait([this](boost::system::error_code) {
			audit["user" + std::to_string(count++)] =
				std::make_shared<AuditLine>(); // planted: growth
			plant_lose(new Timeout);	       // planted: lost
			tick();
		});
	}
	tcp::acceptor acc;
	boost::asio::steady_timer timer;
	int count = 0;
};
int main()
{
	boost::asio::io_context io;
	Server server(io);
	boost::asio::steady_timer stop(io), client(io);
	stop.expires_after(std::chrono::milliseconds(int(plant_secs() * 1000)));
	stop.async_wait([&](boost::system::error_code) { io.stop(); });
	int n = 0;
	std::function<void()> drive = [&] {
		client.expires_after(std::chrono::milliseconds(10));
		client.async_wait([&](boost::system::error_code) {
			auto s = std::make_shared<tcp::socket>(io);
			s->async_connect(
				tcp::endpoint(boost::asio::ip::address_v4::loopback(),
					      server.port()),
				[s, &n](boost::system::error_code ec) {
					if (ec)
						return;
					auto text = std::make_shared<std::string>(n++ % 4 ? "hello"
											  : "x");
					boost::asio::async_write(
						*s, boost::asio::buffer(*text),
						[s, text](boost::system::error_code, std::size_t) {
							auto in = std::make_shared<
								std::array<char, 64>>();
							s->async_read_some(
								boost::asio::buffer(*in),
								[s, in](boost::system::error_code,
									std::size_t) {});
						});
				});
			drive();
		});
	};
	drive();
	io.run();
}
