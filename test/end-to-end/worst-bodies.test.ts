import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { plain, talkSmtp } from '../submission/support/smtp-talk.ts';
import { apiClient, eventually } from '../support/api-client.ts';
import { freePort } from '../support/free-port.ts';
import { startNameServer } from '../support/name-server.ts';
import { operationsOf, readOpenApi } from '../support/openapi/document.ts';
import { unlimitedKey } from '../support/operator.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';
import { type LongestTurn, longestTurn, PROBED } from './fuzz/turn-probe.ts';
import { type WorstBody, worstBodies } from './fuzz/worst-bodies.ts';
import { PROBLEMS, WORST_INBOUND } from './fuzz/worst-inbound.ts';
import { WORST_MAIL } from './fuzz/worst-mail.ts';

/** Limit in units of the probe. A unit is 20 ms on an idle machine, so this is 50 ms. */
const PAUSE_UNITS_MAX = 2.5;
/** A long pause is measured again and the shortest counts, because a shared machine has slow moments. */
const TRIES = 3;
/** Deliveries of an inbound mail that is deferred. */
const INBOUND_TRIES = 5;
/** Bodies between two reads of the probe, which takes longer than most requests. Those of a long pause are sent again one by one. */
const LOT = 20;
/** `WORST_ONLY='batch .*deep'` runs only those. */
const ONLY = new RegExp(process.env.WORST_ONLY ?? '');
/** Longest description of a pause in the output. */
const SHOWN_CHARACTERS = 300;
const ANSWER_CHARACTERS_MAX = 200_000;
/** Acceptable statuses. 409: the first body takes the alias of a template. */
const REFUSED = new Set([400, 403, 404, 409, 413, 422]);

interface Pause extends LongestTurn {
  readonly what: string;
}

const nameOf = ({ method, path, what }: WorstBody): string => `${method} ${path} ${what}`;

describe('a service that receives the worst possible input', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;
  let key: string;
  let smtpPort: number;
  let nameServer: Awaited<ReturnType<typeof startNameServer>>;

  beforeAll(async () => {
    data = await newDataDir();
    smtpPort = await freePort();
    nameServer = await startNameServer();
    const env = { ...PROBED, SUBMISSION_PORT: String(smtpPort), DNS_SERVERS: nameServer.text };
    program = await startProgram({ dataDir: data.path, env });
    key = await unlimitedKey({ dataDir: data.path });
    const api = apiClient(program.baseUrl, key);
    await eventually(
      () => api.get('/v1/api-keys'),
      ({ status }) => status === 200,
    );
    await nextPause('the start');
  });
  afterAll(async () => {
    await program.end('SIGTERM');
    await nameServer.close();
    await data.remove();
  });

  /** The longest pause since the previous call. */
  const nextPause = async (what: string): Promise<Pause> => ({ what, ...(await longestTurn(program)) });

  /** The shortest pause of some tries. The first one suffices if it is within the limit. */
  const shortestPause = async (attempt: () => Promise<string>): Promise<Pause> => {
    const pauses: Pause[] = [];
    do pauses.push(await nextPause(await attempt()));
    while (pauses.length < TRIES && (pauses.at(-1)?.units ?? 0) > PAUSE_UNITS_MAX);
    return pauses.reduce((shortest, pause) => (pause.units < shortest.units ? pause : shortest));
  };

  /** The longest pause of a lot, or of each of its bodies if that is too long. */
  const pausesOf = async (
    lot: readonly WorstBody[],
    send: (body: WorstBody) => Promise<string>,
  ): Promise<readonly Pause[]> => {
    for (const body of lot) await send(body);
    const longest = await nextPause(`one of ${lot.map(nameOf).join(', ')}`);
    if (longest.units <= PAUSE_UNITS_MAX) return [longest];
    const pauses: Pause[] = [];
    for (const body of lot) pauses.push(await shortestPause(() => send(body)));
    return pauses;
  };

  const tellLongest = (name: string, pauses: readonly Pause[]): readonly Pause[] => {
    const sorted = pauses.toSorted((left, right) => right.units - left.units);
    for (const { what, ms, units } of sorted.slice(0, 5)) {
      process.stdout.write(
        `${name}: ${ms.toFixed(0)} ms (${units.toFixed(1)} units): ${what.slice(0, SHOWN_CHARACTERS)}\n`,
      );
    }
    return sorted.filter(({ units }) => units > PAUSE_UNITS_MAX);
  };

  /** @returns a problem with the response other than the pause, or null. */
  const sendWorst = async ({ method, path, make }: WorstBody): Promise<string | null> => {
    const answer = await fetch(program.baseUrl + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: make(),
    });
    const { length } = await answer.text();
    if (answer.status >= 400 && !REFUSED.has(answer.status)) return `status ${answer.status}`;
    return length > ANSWER_CHARACTERS_MAX ? `an answer of ${length} characters` : null;
  };

  test('by HTTP blocks the event loop for no field of any route', async () => {
    const document = readOpenApi(await (await fetch(`${program.baseUrl}/openapi.json`)).json());
    const seen = new Set<string>();
    const bodies = operationsOf(document).flatMap((located) => worstBodies(document, located, seen));
    expect(bodies.length).toBeGreaterThan(1_000);
    const faults: string[] = [];
    const send = async (body: WorstBody): Promise<string> => {
      const fault = await sendWorst(body);
      if (fault !== null) faults.push(`${fault}: ${nameOf(body)}`);
      return nameOf(body);
    };
    const chosen = bodies.filter((body) => ONLY.test(nameOf(body)));
    const pauses: Pause[] = [];
    for (let from = 0; from < chosen.length; from += LOT)
      pauses.push(...(await pausesOf(chosen.slice(from, from + LOT), send)));
    expect(faults).toEqual([]);
    expect(tellLongest(`${chosen.length} of ${bodies.length} worst bodies`, pauses)).toEqual([]);
  }, 900_000);

  test('by HTTP blocks it no longer for 28 MB of attachments, accepted or not', async () => {
    const content = 'QUJD'.repeat(6_050_000);
    const message = { from: 'a@example.test', to: 'b@example.org', subject: 'x', text: 'x' };
    const bodies: Readonly<Record<string, object>> = {
      'one that is accepted': { ...message, attachments: [{ filename: 'a', content }] },
      'one that is no base64': { ...message, attachments: [{ filename: 'a', content: `${content}****` }] },
      'twenty that are accepted': {
        ...message,
        attachments: Array.from({ length: 20 }, () => ({ filename: 'a', content: content.slice(0, 1_200_000) })),
      },
    };
    const pauses: Pause[] = [];
    for (const [what, body] of Object.entries(bodies)) {
      const pause = await shortestPause(async () => {
        const answer = await fetch(`${program.baseUrl}/v1/messages/send`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            'idempotency-key': randomUUID(),
          },
          body: JSON.stringify(body),
        });
        expect([what, answer.status]).toEqual([what, what.endsWith('accepted') ? 202 : 400]);
        return what;
      });
      pauses.push(pause);
    }
    expect(tellLongest('large attachments', pauses)).toEqual([]);
  });

  test('by SMTP blocks it for no message', async () => {
    const pauses: Pause[] = [];
    for (const [what, make] of Object.entries(WORST_MAIL)) {
      const pause = await shortestPause(async () => {
        const talk = await talkSmtp(smtpPort);
        const lines = [
          'EHLO x\r\n',
          plain(key),
          'MAIL FROM:<a@example.test>\r\n',
          'RCPT TO:<b@example.org>\r\n',
          'DATA\r\n',
        ];
        for (const line of lines) await talk.ask(line);
        const reply = await talk.ask(`${make()}\r\n.\r\n`);
        talk.close();
        expect(`${what}: ${reply}`).toMatch(/: (?:250|55[024]) /);
        return `${what}: ${reply}`;
      });
      pauses.push(pause);
    }
    expect(tellLongest('worst mail', pauses)).toEqual([]);
  }, 300_000);

  /** Brings a mail for the domain that is there from the start. @returns the reply. */
  const bringOnce = async (port: number, raw: string, recipient: string): Promise<string> => {
    const talk = await talkSmtp(port);
    const to = `RCPT TO:<${recipient}@inbound.outbox.test>\r\n`;
    for (const line of ['EHLO x\r\n', 'MAIL FROM:<ann@sender.test>\r\n', to, 'DATA\r\n']) await talk.ask(line);
    const reply = await talk.ask(`${raw}\r\n.\r\n`);
    talk.close();
    return reply;
  };

  /** Like a server that tries again: the database of a busy machine may not write 25 MB in time. */
  const bringInbound = async (port: number, raw: string, recipient: string): Promise<string> => {
    let reply = '';
    for (let tries = 0; tries < INBOUND_TRIES && !reply.startsWith('250'); tries += 1)
      reply = await bringOnce(port, raw, recipient);
    return reply;
  };

  /** Problems of the newest inbound message, which has at least this size. */
  const problemsOf = async (bytes: number): Promise<string> => {
    const api = apiClient(program.baseUrl, key);
    const { body } = await eventually(
      () => api.get('/v1/inbound?limit=1'),
      ({ body: list }) => list.data[0]?.size_bytes >= bytes,
      60_000,
    );
    return String((await api.get(`/v1/inbound/${body.data[0].id}`)).body.problems);
  };

  test('by SMTP for a domain blocks it for no mail, receives all of them, and says what could not be read', async () => {
    const port = Number(/"port":(\d+)[^\n]*receiving bounces and complaints/.exec(program.output())?.[1]);
    expect(await bringInbound(port, 'the first mail loads the reader', 'first')).toMatch(/^250/);
    await nextPause('the first mail');
    const pauses: Pause[] = [];
    for (const [what, make] of Object.entries(WORST_INBOUND).filter(([name]) => ONLY.test(name))) {
      let tries = 0;
      const pause = await shortestPause(async () => {
        tries += 1; // the same bytes for the same recipient would be the same message
        const reply = await bringInbound(port, make(), `a${tries}`);
        expect(`${what}: ${reply}`).toMatch(/: 250 /);
        return `${what}: ${reply}`;
      });
      pauses.push(pause);
      const problem = PROBLEMS[what];
      if (problem !== undefined) expect(`${what}: ${await problemsOf(make().length)}`).toMatch(problem);
    }
    expect(tellLongest('worst inbound mail', pauses)).toEqual([]);
  }, 900_000);
});
