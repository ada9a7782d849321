import { describe, expect, it } from 'vitest';
import type { Script, ScriptedServer, Stage } from '../../../support/scripted-smtp-server/scripted-server.ts';
import { DELIVERED, send, start } from './one-session.ts';

const CODES = [
  ...[200, 211, 220, 221, 235, 250, 251, 252, 299, 300, 334, 354, 399],
  ...[400, 421, 432, 450, 451, 452, 454, 455, 499],
  ...[500, 501, 502, 503, 504, 521, 523, 525, 530, 534, 535, 538, 550, 551, 552, 553, 554, 555, 556, 571, 599],
  ...[0, 100, 199, 600, 999],
] as const;
const IN_PARTS = ['%-one\r\n% two', '% one line'] as const;

const isYes = (code: number): boolean => code >= 200 && code < 300;
const isNo = (code: number): boolean => code >= 400 && code < 600;
/** With these codes a 5xx is about this client, not about the recipient or the content. */
const ABOUT_US = new Set([500, 501, 502, 503, 504, 530, 534, 535, 538, 555]);
const isForGood = (code: number): boolean => code >= 500 && !ABOUT_US.has(code);
/** Codes about an argument. They are final if the optional parameters were already omitted. */
const ABOUT_ARGUMENT = new Set([501, 504]);

/** The required outcome for one recipient after this reply at a stage. */
type Expectation = (code: number) => { readonly outcome: string; readonly again: boolean };
const DEFERRED_AND_OVER = { outcome: 'deferred', again: false };

const refusedAt = (code: number, bounces: boolean, argued = false) => {
  if (!isNo(code)) return DEFERRED_AND_OVER;
  const isFinal = (bounces && isForGood(code)) || (argued && ABOUT_ARGUMENT.has(code));
  return { outcome: isFinal ? 'bounced' : 'deferred', again: code !== 421 };
};

const EXPECTED: Partial<Record<Stage, Expectation>> = {
  connect: (code) => (code === 220 ? { outcome: 'delivered', again: true } : DEFERRED_AND_OVER),
  // HELO follows any unsuccessful EHLO, unless the server closes the connection.
  EHLO: (code) => (code === 421 ? DEFERRED_AND_OVER : { outcome: 'delivered', again: true }),
  MAIL: (code) => (isYes(code) ? { outcome: 'delivered', again: true } : refusedAt(code, code === 552, true)),
  RCPT: (code) => (isYes(code) ? { outcome: 'delivered', again: true } : refusedAt(code, true, true)),
  DATA: (code) => {
    if (code >= 300 && code < 400) return { outcome: 'delivered', again: true };
    return refusedAt(code, true);
  },
  dot: (code) => {
    if (isYes(code)) return { outcome: 'delivered', again: true };
    return isNo(code) ? refusedAt(code, true) : { outcome: 'unknown', again: false };
  },
};

/** Sends this reply once at the stage, and normal replies afterwards. */
const once = (stage: Stage, reply: string): Script => ({
  [stage]: (_: string, times: number) => (times === 0 ? reply : undefined),
});

const copiesOf = ({ copies }: ScriptedServer): number => copies.length;

describe.each(Object.entries(EXPECTED) as [Stage, Expectation][])('any code at %s', (stage, expectation) => {
  it.each(IN_PARTS)('has the required outcome, and no recipient gets two copies: %j', async (form) => {
    const found: unknown[] = [];
    const wanted: unknown[] = [];
    for (const code of CODES) {
      const text = form.replaceAll('%', String(code).padStart(3, '0'));
      const { server, transport } = await start(once(stage, text), { strict: true });
      const [[outcome] = []] = await send(transport);
      const copies = copiesOf(server);
      const next = await send(transport);
      found.push([code, outcome, server.connections(), next, copies, copiesOf(server) - copies]);
      const expected = expectation(code);
      const isCopied = expected.outcome === 'delivered' ? 1 : 0;
      wanted.push([code, expected.outcome, expected.again ? 1 : 2, [DELIVERED], isCopied, 1]);
      await transport.close();
    }
    expect(found).toEqual(wanted);
  });
});

describe('any code to RSET', () => {
  it('other than 2xx ends the session without losing mail', async () => {
    for (const code of CODES) {
      const script: Script = { ...once('RCPT', '550 5.1.1 No'), ...once('RSET', `${code} x`) };
      const { server, transport } = await start(script, { strict: true });
      expect((await send(transport))[0]?.[0]).toBe('bounced');
      expect(await send(transport)).toEqual([DELIVERED]);
      expect([code, server.connections()]).toEqual([code, isYes(code) ? 1 : 2]);
      await transport.close();
    }
  });
});

describe('any code to QUIT', () => {
  it('lets the session end', async () => {
    for (const code of CODES) {
      const { transport } = await start({ QUIT: () => `${code} x` });
      expect(await send(transport)).toEqual([DELIVERED]);
      await transport.close();
    }
  });
});
