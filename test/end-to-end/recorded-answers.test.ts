import { readFile } from 'node:fs/promises';
import { hostname, userInfo } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test, vi } from 'vitest';
import { createContentsCodec } from '../../src/adapters/contents/contents-codec.ts';
import { createPostgresEventStore } from '../../src/adapters/event-store.ts';
import { createPostgresSecrets, createSecretBox, openEventKeys } from '../../src/adapters/secrets/postgres.ts';
import { createSystem } from '../../src/adapters/system.ts';
import { suspendDestination } from '../../src/commands/destination.ts';
import { createSealingCodec } from '../../src/domain/kernel/codec.ts';
import { createEventMacs } from '../../src/domain/kernel/event-macs.ts';
import { createPool } from '../../src/lib/postgres/postgres.ts';
import { type ReceivedMail, receive } from '../http/support/received-mail.ts';
import { freePort } from '../support/free-port.ts';
import { silentLogger } from '../support/logger.ts';
import { operationsOf, readOpenApi } from '../support/openapi/document.ts';
import { startOpenIdProvider } from '../support/openid-provider.ts';
import { operator, unlimitedKey } from '../support/operator.ts';
import { freshDatabase } from '../support/postgres.ts';
import { newDataDir, startProgram } from '../support/program.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { createRecorder } from './recorded-answers/record.ts';
import { differences } from './recorded-answers/required-fields.ts';
import { recordLater, recordMost } from './recorded-answers/scenario.ts';
import { createStable } from './recorded-answers/stable.ts';

const SECRET_KEY = 'a secret key that is long enough for a test';
const CLOCK = new URL('../support/clock-ahead.ts', import.meta.url).href;
const DAY = '2026-01-31T09:30:00Z';
const NEXT_MONTH = '2026-02-02T09:30:00Z';
const HOUR_MS = 3_600_000;

const PATH = fileURLToPath(new URL('../../src/http/openapi/recorded-answers.json', import.meta.url));
/** The reference itself: an example of it would be all of it. */
const NOT_RECORDED = ['openapi', 'docs', 'docsPart'];
/** Their body is an empty object. */
const WITHOUT_FIELDS = ['createChallenge', 'startOidc'];

/** Paths of all fields; those of the items of a list are merged. Values may differ from run to run. */
const fieldsOf = (value: unknown, path = ''): readonly string[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const inside = Array.isArray(value) ? path : `${path}.${name}`;
    return [inside, ...fieldsOf(inner, inside)];
  });
};
const shapeOf = (text: string): string => [...new Set(fieldsOf(JSON.parse(text)))].sort().join('\n');

const undo: (() => unknown)[] = [];
afterAll(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const openLog = async (url: string) => {
  const system = createSystem();
  const box = createSecretBox({ current: SECRET_KEY }, 'vault.contents', system);
  const contentsCodec = createContentsCodec({ box, encrypts: false });
  const pool = createPool({ url, name: 'test', logger: silentLogger });
  undo.push(() => pool.end());
  const secretKeys = { current: SECRET_KEY };
  const eventKeys = await openEventKeys(createPostgresSecrets({ pool, system, secretKeys }), secretKeys);
  const codec = createSealingCodec(createEventMacs(eventKeys)); // an event without proof would be foreign
  const store = await createPostgresEventStore({ url, codec, contentsCodec, system, logger: silentLogger });
  undo.push(() => store.close());
  const context = { store, system };
  const suspend = (destination: string) =>
    suspendDestination(context, {
      operator: destination,
      domain: destination,
      reason: 'unreachable',
      code: 0,
      enhanced: null,
      mx: `mx.${destination}`,
      times: 2,
      until: new Date(Date.parse(DAY) + HOUR_MS).toISOString(),
    });
  return {
    suspend,
    receive: (mail: Omit<ReceivedMail, 'environment'>) => receive(context, { ...mail, environment: 'live' }),
  };
};

// `npx vitest run --config test/vitest.config.ts test/end-to-end/recorded-answers.test.ts --update` writes those with other
// fields than before, and all of them if the file is deleted first.
test('the API reference is what the service does: an answer of every operation, and the fields it requires', async () => {
  vi.setSystemTime(DAY);
  undo.push(() => vi.useRealTimers());
  const data = await newDataDir();
  undo.push(data.remove);
  const database = await freshDatabase();
  undo.push(database.drop);
  const receiver = await startWebhookReceiver();
  undo.push(receiver.close);
  const host = `localhost:${await freePort()}`;
  const origin = `http://${host}`;
  const provider = await startOpenIdProvider(`${origin}/dashboard/sign-in/oidc`);
  undo.push(provider.close);
  provider.person = { email: 'ann@example.net', email_verified: true };
  const env = {
    DATABASE_URL: database.url,
    SECRET_KEY,
    // A checkpoint signed in the background would number some events in one run and not in another.
    AUDIT_INTERVAL: '86400',
    NODE_OPTIONS: `--import=${CLOCK}`,
    PORT: new URL(origin).port,
    PUBLIC_URL: origin,
    TRUSTED_PROXIES: '127.0.0.1,::1',
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: provider.client.clientId,
    OIDC_CLIENT_SECRET: provider.client.clientSecret,
    SUBMISSION_PORT: String(await freePort()),
  };
  const at = (day: string) => ({ dataDir: data.path, env: { ...env, CLOCK_AT: day } });
  const program = await startProgram(at(DAY));
  undo.push(() => program.end('SIGTERM'));
  const document = readOpenApi(await (await fetch(`${program.baseUrl}/openapi.json`)).json());
  const recorder = createRecorder(program.baseUrl, document, await unlimitedKey(at(DAY)));
  await recordMost({
    recorder,
    testKey: program.keys.test,
    listener: receiver.url,
    origin,
    provider,
    grantOperator: (member) => operator(at(DAY), 'members', 'grant-operator', '--member', member),
    ...(await openLog(database.url)),
  });
  await program.end('SIGTERM');
  const later = await startProgram(at(NEXT_MONTH));
  undo.push(() => later.end('SIGTERM'));
  await recordLater(recorder);

  const operations = operationsOf(document).map(({ operation }) => operation.operationId);
  expect([...recorder.answers.keys(), ...NOT_RECORDED].sort()).toEqual(operations.sort());
  expect(differences(recorder.comparisons)).toEqual([]);
  const compared = new Set(recorder.comparisons.map(({ operationId }) => operationId));
  const withBodies = operationsOf(document)
    .filter(({ operation }) => operation.requestBody?.content['application/json'] !== undefined)
    .map(({ operation }) => operation.operationId);
  expect(withBodies.filter((id) => !compared.has(id))).toEqual(WITHOUT_FIELDS);
  const places = [
    [origin, 'https://mail.example.com'],
    [encodeURIComponent(host), 'mail.example.com'],
    [host, 'mail.example.com'],
    [receiver.url, 'https://example.com/hooks/outbox'],
    [provider.issuer, 'https://login.example.com'],
    [new URL(provider.issuer).host, 'login.example.com'],
    ['127.0.0.1', '192.0.2.25'],
    ['localhost', 'mail.example.com'],
    [`${hostname()}:${program.child.pid}`, 'outbox-1:12'],
    [`"host":"${hostname()}","user":"${userInfo().username}"`, '"host":"outbox-1","user":"kim"'],
  ] as const;
  const stable = createStable(places, recorder.documented);
  const recorded = `${JSON.stringify(stable(Object.fromEntries(recorder.answers)), null, 1)}\n`;
  const committed = await readFile(PATH, 'utf8').catch(() => '{}');
  await expect(shapeOf(recorded) === shapeOf(committed) ? committed : recorded).toMatchFileSnapshot(PATH);
}, 180_000);
