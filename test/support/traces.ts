import type { Redis } from 'ioredis';
import type { Pool } from 'pg';

/** The person whose data a test writes, erases and searches for. */
export const ADDRESS = 'ann.person@example.net';
/** All stored forms: plain text, capitals, URL-encoded, quoted, or bytes. */
const FORMS = [ADDRESS, 'ann.person', encodeURIComponent(ADDRESS), 'ann.person=40example.net'].flatMap((text) => [
  text.toLowerCase(),
  Buffer.from(text).toString('hex'),
  ...[0, 1, 2].map((shift) =>
    Buffer.from(`${'x'.repeat(shift)}${text}`)
      .toString('base64')
      .slice(shift === 0 ? 0 : 4, -4)
      .toLowerCase(),
  ),
]);

/** Forms in which a text names the person. */
export const formsIn = (text: string): readonly string[] => {
  const lower = text.toLowerCase();
  return FORMS.filter((form) => lower.includes(form));
};

/** Every row of every table as text; bytes are hexadecimal. */
export const dumpOf = async (pool: Pick<Pool, 'query'>): Promise<string> => {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  const texts: string[] = [];
  for (const { name } of tables) {
    const { rows } = await pool.query<{ text: string }>(`select t::text as text from ${name} t`);
    texts.push(...rows.map(({ text }) => text));
  }
  return texts.join('\n');
};

const READ: Readonly<Record<string, (redis: Redis, key: string) => Promise<unknown>>> = {
  string: (redis, key) => redis.get(key),
  hash: (redis, key) => redis.hgetall(key),
  list: (redis, key) => redis.lrange(key, 0, -1),
  set: (redis, key) => redis.smembers(key),
  zset: (redis, key) => redis.zrange(key, '0', '-1'),
  stream: (redis, key) => redis.xrange(key, '-', '+'),
};

/** Every key of Redis with its value. @throws {Error} for an unknown type. */
export const dumpOfRedis = async (redis: Redis): Promise<string> => {
  const texts: string[] = [];
  for (const key of await redis.keys('*')) {
    const type = await redis.type(key);
    const read = READ[type];
    if (read === undefined && type !== 'none') throw new Error(`Redis holds a ${type}, ${key}`);
    texts.push(key, JSON.stringify(await read?.(redis, key)));
  }
  return texts.join('\n');
};
