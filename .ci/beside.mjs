// An upgrade without a gap: a service of an earlier commit fills its read models, then one of this commit, whose read models
// of messages and keys have a higher version, starts on the same database and rebuilds them. Both answer their lists the whole
// time, and every message is sent once. The earlier one ends, and the lists of the other are complete.
// Usage: .ci/postgres-15 node .ci/beside.mjs <checkout of the earlier commit> <checkout with higher versions>
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';

const [, , before, after] = process.argv;
/** Enough for a rebuild of some seconds. */
const MESSAGES = 2_000;
const BATCH = 100;
const LISTS = ['/v1/messages?limit=1', '/v1/api-keys?limit=1'];
const REBUILT = ['messages', 'api-keys'];
const ASK_EVERY_MS = 50;
const WAIT_MS_MAX = 120_000;

const dataDir = await mkdtemp(join(tmpdir(), 'outbox-beside-'));
const env = {
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  DATA_DIR: dataDir,
  DATABASE_URL: process.env.TEST_POSTGRES_URL,
  SECRET_KEY: randomBytes(32).toString('hex'),
};
const say = (text) => process.stdout.write(`${text}\n`);
const problems = [];
const accepted = [];

const until = async (what, isTrue) => {
  const endMs = performance.now() + WAIT_MS_MAX;
  while (!(await isTrue())) {
    if (performance.now() > endMs) throw new Error(`never came true: ${what}`);
    await sleep(ASK_EVERY_MS);
  }
};

/** Starts a service, and asks for its lists until it ends. */
const start = async (name, cwd) => {
  const child = spawn('npm', ['start'], {
    cwd,
    env: { ...env, PORT: '0', METRICS_PORT: '0' },
    stdio: 'pipe',
    detached: true,
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const ready = () => /^{.*"msg":"Outbox is ready"}$/m.exec(output)?.[0];
  await until(`${name} is ready:\n${output}`, () => ready() !== undefined || child.exitCode !== null);
  if (ready() === undefined) throw new Error(`${name} ended:\n${output}`);
  const { baseUrl } = JSON.parse(ready());
  const api = apiOf(baseUrl);
  const asking = askLists(name, api.call);
  return {
    ...api,
    answers: asking.answers,
    output: () => output,
    end: async () => {
      await asking.end();
      child.kill('SIGTERM');
      const code = await ended;
      if (code !== 0) problems.push(`${name} ended with ${code}:\n${output.slice(-2_000)}`);
    },
    kill: () => child.exitCode === null && process.kill(-child.pid, 'SIGKILL'),
  };
};

let key = '';

const apiOf = (baseUrl) => {
  const call = async (path, body) => {
    const response = await fetch(baseUrl + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };
  const all = async (path) => {
    const found = [];
    for (let next = ''; next !== null; ) {
      const { body } = await call(`${path}?limit=100${next && `&after=${encodeURIComponent(next)}`}`);
      found.push(...body.data);
      next = body.has_more ? body.next_cursor : null;
    }
    return found;
  };
  return { call, all };
};

/** Asks a service for its lists until `end` is called. */
const askLists = (name, call) => {
  let isAsking = true;
  let answers = 0;
  const askFor = async (list) => {
    const { status, body } = await call(list).catch((error) => ({ status: 0, body: String(error) }));
    answers += 1;
    if (status !== 200) problems.push(`${name} answered ${list} with ${status}: ${JSON.stringify(body)}`);
  };
  const ask = async () => {
    while (isAsking) {
      await Promise.all(key === '' ? [] : LISTS.map(askFor));
      await sleep(ASK_EVERY_MS);
    }
  };
  const asking = ask();
  return {
    answers: () => answers,
    end: async () => {
      isAsking = false;
      await asking;
    },
  };
};

const messageTo = (number) => ({
  ...{ from: 'hello@example.test', to: `you-${number}@example.net` },
  ...{ subject: `Number ${number}`, html: '<p>x</p>' },
});

const sendThrough = async (service, path, body, count) => {
  const { status, body: answer } = await service.call(path, body);
  if (status !== 202) throw new Error(`${path} answered ${status}: ${JSON.stringify(answer)}`);
  const ids = count === 1 ? [answer.id] : answer.data.map(({ id }) => id);
  accepted.push(...ids);
};

/** Sends through services in turn. @returns what ends it. */
const sendOn = (services) => {
  let isOver = false;
  const sending = (async () => {
    for (let number = 0; !isOver; number += 1) {
      await sendThrough(services[number % services.length], '/v1/messages/send', messageTo(`on-${number}`), 1);
      await sleep(ASK_EVERY_MS);
    }
  })();
  return async () => {
    isOver = true;
    await sending;
  };
};

const createKey = async () => {
  const run = async (...words) =>
    JSON.parse(
      (await promisify(execFile)('npm', ['run', '--silent', 'outbox', '--', ...words, '--json'], { cwd: before, env }))
        .stdout,
    );
  const [domain] = await run('domains', 'list');
  const place = ['--organization', domain.organization_id, '--domain', domain.domain_id];
  const limits = ['--send', '1000000', '--read', '1000000', '--manage', '1000000'];
  return (await run('keys', 'create', ...place, '--permissions', 'admin', ...limits)).key;
};

const sameAs = (what, found, wanted) => {
  const [some, all] = [found.toSorted(), wanted.toSorted()];
  if (some.join() === all.join()) return;
  problems.push(`${what}: ${found.length} (${new Set(found).size} different) instead of ${wanted.length}`);
};

const check = async (started) => {
  const old = await start('the earlier service', before);
  started.push(old);
  key = await createKey();
  for (let first = 0; first < MESSAGES; first += BATCH) {
    const messages = Array.from({ length: BATCH }, (_, index) => messageTo(first + index));
    await sendThrough(old, '/v1/messages/batch', { messages }, BATCH);
  }
  const stopOld = sendOn([old]);
  const starting = start('the new service', after);
  const fresh = await starting;
  started.push(fresh);
  await stopOld();
  const stopBoth = sendOn([old, fresh]);
  await until('the read models are rebuilt', () =>
    REBUILT.every((name) =>
      [old, fresh].some((one) =>
        one
          .output()
          .split('\n')
          .some((line) => line.includes(`"projection":"${name}"`) && line.includes('rebuilt a read model')),
      ),
    ),
  );
  say(`rebuilt beside: ${old.answers()} and ${fresh.answers()} lists answered so far`);
  await stopBoth();
  const stopFresh = sendOn([fresh]);
  await old.end();
  await stopFresh();
  await until(
    'all messages are delivered',
    async () =>
      (await fresh.all('/v1/messages')).filter(({ status }) => status === 'delivered').length >= accepted.length,
  );
  const { status, body } = await fresh.call('/v1/messages?limit=1&consistency=strict');
  if (status !== 200 || 'complete_until' in body) problems.push(`the list is not complete: ${status}`);
  sameAs(
    'messages in the list',
    (await fresh.all('/v1/messages')).map(({ id }) => id),
    accepted,
  );
  await eventsOnce();
  await fresh.end();
};

/** One attempt and one delivery of each message. */
const eventsOnce = async () => {
  const client = new pg.Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  for (const type of ['MessageAccepted', 'AttemptStarted', 'RecipientDelivered']) {
    const { rows } = await client.query(
      "select replace(stream, 'message-', '') as id from event_log.events where type = $1",
      [type],
    );
    sameAs(
      type,
      rows.map(({ id }) => id),
      accepted,
    );
  }
  await client.end();
};

const beganMs = performance.now();
const started = [];
try {
  await check(started);
} catch (error) {
  problems.push(error.stack);
  for (const { output } of started) problems.push(output().slice(-3_000));
} finally {
  for (const { kill } of started) kill();
  await rm(dataDir, { recursive: true, force: true });
}
for (const problem of problems.slice(0, 20)) say(problem);
say(`${accepted.length} messages, ${problems.length} problems, ${Math.round((performance.now() - beganMs) / 1_000)} s`);
process.exit(problems.length === 0 ? 0 : 1);
