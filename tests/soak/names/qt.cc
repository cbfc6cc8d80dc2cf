// SPDX-License-Identifier: MIT
#include <QtCore>
#include <memory>
#include "plant.h"
class Document : public QObject
{
      public:
	Document(QObject *p = nullptr) : QObject(p)
	{
	}
	char text[180];
};
struct Invoice {
	QString who;
	double sum[7];
};
class Store
{
      public:
	QHash<QString, Invoice> by_name;
	QList<QSharedPointer<Invoice>> all;
	void add(const QString &n)
	{
		Invoice v;
		v.who = n;
		by_name.insert(n, v);
	} // growth
	void lose_shared()
	{
		auto *p = new QSharedPointer<Invoice>(QSharedPointer<Invoice>::create());
		plant_lose(p);
	}
};
static void load_map(int i)
{
	auto *m = new QMap<int, QString>;
	for (int k = 0; k < 4; k++)
		m->insert(k, QString("value %1").arg(i));
	plant_lose(m);
}
static QByteArray *read_reply(int n)
{
	auto *b = new QByteArray(n, 'x');
	return b;
}
int main(int argc, char **argv)
{
	QCoreApplication app(argc, argv);
	Store store;
	QTimer t, stop;
	int i = 0;
	QObject::connect(&t, &QTimer::timeout, [&] {
		plant_lose(new Document);
		store.add(QString("customer-%1").arg(i++));
		store.lose_shared();
	});
	QObject::connect(&t, &QTimer::timeout, [&] {
		load_map(i);
		plant_lose(read_reply(900));
	});
	QObject::connect(&t, &QTimer::timeout, [&] { plant_lose(new QVector<double>(55)); });
	QObject::connect(&stop, &QTimer::timeout, &app, &QCoreApplication::quit);
	t.start(20);
	stop.start(int(plant_secs() * 1000));
	return app.exec();
}
