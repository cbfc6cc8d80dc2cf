/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * An HTTP service as C++ programs are: a thread per connection, a shared map of strings, regular
 * expressions, exceptions, streams. Answers depend on the request alone, so that two runs can be
 * compared. "/quit" ends it.
 *
 *   /words/TEXT  how often each word occurs    /match/TEXT  what a regular expression finds
 *   /fail/TEXT   thrown through ten frames     /keep/TEXT   length; the text is kept in the map
 */
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace
{

class store
{
      public:
	size_t keep(const std::string &text)
	{
		std::lock_guard<std::mutex> hold(mutex_);
		auto made = std::make_shared<std::string>(text);

		if (texts_.size() > 10000)
			texts_.clear();
		texts_[text + std::to_string(serial_++)] = made;
		return made->size();
	}

      private:
	std::mutex mutex_;
	std::unordered_map<std::string, std::shared_ptr<std::string>> texts_;
	unsigned long serial_ = 0;
};

store kept;

std::string words(const std::string &text)
{
	std::map<std::string, int> counts;
	std::istringstream in(text);
	std::ostringstream out;
	std::string word;

	while (std::getline(in, word, '+'))
		counts[word]++;
	for (const auto &[name, count] : counts)
		out << name << '=' << count << '\n';
	return out.str();
}

std::string match(const std::string &text)
{
	static const std::regex pattern("([a-z]+)([0-9]+)");
	std::vector<std::string> found;
	std::string out;

	for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
		found.push_back((*at)[2].str() + (*at)[1].str());
	std::sort(found.begin(), found.end());
	for (const auto &one : found)
		out += one + '\n';
	return out;
}

int descend(const std::string &text, int depth)
{
	const std::string longer = text + std::to_string(depth);

	if (depth == 0)
		throw std::runtime_error("cannot handle " + longer);
	return descend(longer, depth - 1) + (int)longer.size();
}

std::string answer(const std::string &path)
{
	const auto slash = path.find('/', 1);
	const std::string what = path.substr(1, slash == std::string::npos ? slash : slash - 1);
	const std::string text = slash == std::string::npos ? "" : path.substr(slash + 1);

	try {
		if (what == "words")
			return words(text);
		if (what == "match")
			return match(text);
		if (what == "keep")
			return std::to_string(kept.keep(text)) + '\n';
		return std::to_string(descend(text, 10)) + '\n';
	} catch (const std::exception &problem) {
		return std::string("error: ") + problem.what() + '\n';
	}
}

bool send_all(int fd, const std::string &text)
{
	size_t sent = 0;

	while (sent < text.size()) {
		const ssize_t n = send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		sent += (size_t)n;
	}
	return true;
}

void serve(int fd, int listener)
{
	std::string input;
	char buffer[4096];
	ssize_t n;

	while ((n = recv(fd, buffer, sizeof(buffer), 0)) > 0) {
		size_t end;

		input.append(buffer, (size_t)n);
		while ((end = input.find("\r\n\r\n")) != std::string::npos) {
			const size_t from = input.find(' ') + 1;
			const std::string path = input.substr(from, input.find(' ', from) - from);
			const std::string body = answer(path);
			std::ostringstream head;

			head << "HTTP/1.1 200 OK\r\nContent-Length: " << body.size()
			     << "\r\nConnection: keep-alive\r\n\r\n";
			input.erase(0, end + 4);
			if (!send_all(fd, head.str() + body))
				break;
			if (path == "/quit")
				(void)shutdown(listener, SHUT_RDWR);
		}
	}
	(void)close(fd);
}

} // namespace

int main(int argc, char **argv)
{
	const int listener = socket(AF_INET, SOCK_STREAM, 0);
	const int one = 1;
	sockaddr_in address{};
	std::vector<std::thread> threads;
	int fd;

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons((uint16_t)std::stoi(argc > 1 ? argv[1] : "8080"));
	(void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0 ||
	    listen(listener, 128) != 0)
		return 1;
	while ((fd = accept(listener, nullptr, nullptr)) >= 0)
		threads.emplace_back(serve, fd, listener);
	for (auto &thread : threads)
		thread.join();
	std::cout << "served\n";
	return 0;
}
