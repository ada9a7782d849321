import { describe, expect, it } from 'vitest';
import type { CutOff } from '../../../support/scripted-smtp-server/cut-off.ts';
import type { Script } from '../../../support/scripted-smtp-server/scripted-server.ts';
import { send, start, three } from './one-session.ts';

const LARGE = 'x'.repeat(70_000);
/** Concurrent tries. Each opens its own connection. */
const TOGETHER = 20;

interface Manner {
  readonly script: Script;
  readonly text: string;
  /** Upper bound for the bytes of the dialogue. */
  readonly heard: number;
}

const PIPELINED: Manner = { script: {}, text: 'x', heard: 700 };
const IN_TURN: Manner = { script: { EHLO: () => '250 plain' }, text: 'x', heard: 700 };
const IN_PIECES: Manner = {
  script: { EHLO: () => '250-wide\r\n250-PIPELINING\r\n250 DSN' },
  text: LARGE,
  heard: 500,
};

/** @returns for each recipient the number of copies that the server accepted, and the reported outcome. */
const tryWith = async ({ script, text }: Manner, cut: CutOff): Promise<readonly (readonly [number, string])[]> => {
  const { server, transport } = await start(script, { cut, strict: true });
  const outcomes = await send(transport, { ...three, text });
  await transport.close();
  await server.close();
  return (three.envelopeTo ?? []).map((address, at) => [
    server.copies.filter(({ to }) => to.includes(address)).length,
    String(outcomes[at]?.[0]),
  ]);
};

/** An accepted copy is delivered or unknown. Without a copy the outcome is never delivered. */
const ALLOWED = ['0 deferred', '0 unknown', '1 unknown', '1 delivered'];

describe.each([
  ['with PIPELINING', PIPELINED],
  ['one command at a time', IN_TURN],
  ['in pieces', IN_PIECES],
])('a connection that ends after any byte, %s,', (_, manner) => {
  it.each([
    ['said', 400],
    ['heard', manner.heard],
  ] as const)('is reported as what it was: %s', async (after, bytesMax) => {
    const found = new Map<string, number>();
    for (let bytes = 1; bytes <= bytesMax; bytes += TOGETHER) {
      const cuts = Array.from({ length: TOGETHER }, (_each, index) => tryWith(manner, { after, bytes: bytes + index }));
      for (const [copies, outcome] of (await Promise.all(cuts)).flat()) {
        const kind = `${copies} ${outcome}`;
        found.set(kind, (found.get(kind) ?? 0) + 1);
      }
    }
    expect([...found.keys()].filter((kind) => !ALLOWED.includes(kind))).toEqual([]);
    expect(found.get('0 deferred')).toBeGreaterThan(0);
    // After a truncated reply the client cannot know whether the message was accepted.
    if (after === 'said') expect(found.get('1 unknown')).toBeGreaterThan(0);
  });
});
