import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type ApiClient, apiClient } from '../support/api-client.ts';
import { operationsOf, readOpenApi } from '../support/openapi/document.ts';
import { unlimitedKey } from '../support/operator.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { longestTurnMs, PROBED } from './fuzz/turn-probe.ts';
import { makeWorstData, publish, WORST_TEMPLATES, worstReads } from './fuzz/worst-answers.ts';

const TURN_MS_MAX = 50;
/** Number of tries. The shortest counts, because one of them collects the garbage of the previous request. */
const TRIES = 5;
/** `WORST_ONLY='reports'` runs only those. */
const ONLY = new RegExp(process.env.WORST_ONLY ?? '');
/** Refusals of reads of missing resources, and of reads that no key may make. */
const REFUSED = new Set([400, 403, 404]);

interface Turn {
  readonly what: string;
  readonly outcome: string;
  readonly ms: number;
}

describe('a service asked for the largest possible data', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;
  let key: string;
  let api: ApiClient;

  beforeAll(async () => {
    data = await newDataDir();
    program = await startProgram({ dataDir: data.path, env: PROBED });
    key = await unlimitedKey({ dataDir: data.path });
    api = apiClient(program.baseUrl, key);
  }, 300_000);
  afterAll(async () => {
    await program.end('SIGTERM');
    await data.remove();
  });

  const measure = async (what: string, work: () => Promise<string>): Promise<Turn> => {
    let [ms, outcome] = [Number.POSITIVE_INFINITY, ''];
    for (let attempt = 0; attempt < TRIES && ms > TURN_MS_MAX; attempt += 1) {
      await longestTurnMs(program);
      outcome = await work();
      ms = Math.min(ms, await longestTurnMs(program));
    }
    return { what, outcome, ms };
  };

  const tooLong = (turns: readonly Turn[]): readonly Turn[] => {
    const sorted = turns.toSorted((left, right) => right.ms - left.ms);
    for (const { what, outcome, ms } of sorted.slice(0, 10)) {
      process.stdout.write(`longest turn: ${ms.toFixed(0)} ms, ${outcome}: ${what.slice(0, 120)}\n`);
    }
    return sorted.filter(({ ms }) => ms > TURN_MS_MAX);
  };

  const read = async (path: string): Promise<string> => {
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(program.baseUrl + path, { headers, signal: AbortSignal.timeout(60_000) });
    await answer.arrayBuffer();
    return String(answer.status);
  };

  test('blocks the event loop for at most 50 ms in any read', async () => {
    const receiver = await startWebhookReceiver();
    onTestFinished(receiver.close);
    const made = await makeWorstData(api, receiver.url);
    const document = readOpenApi(await (await fetch(`${program.baseUrl}/openapi.json`)).json());
    const paths = operationsOf(document).flatMap((located) => worstReads(located, made));
    expect(paths.length).toBeGreaterThan(80);
    const turns: Turn[] = [];
    for (const path of paths.filter((one) => ONLY.test(one))) turns.push(await measure(path, () => read(path)));
    const failed = turns.filter(({ outcome }) => Number(outcome) >= 300 && !REFUSED.has(Number(outcome)));
    expect(failed).toEqual([]);
    if (ONLY.source === '(?:)') {
      expect(turns.filter(({ outcome }) => outcome === '200').length).toBeGreaterThan(60);
    }
    expect(tooLong(turns)).toEqual([]);
  }, 900_000);

  test('blocks it no longer for the publication of any template', async () => {
    const turns: Turn[] = [];
    for (const [what, template] of Object.entries(WORST_TEMPLATES).filter(([one]) => ONLY.test(one))) {
      turns.push(await measure(what, async () => (await publish(api, template)).join()));
    }
    expect(turns.filter(({ outcome }) => !/^20[01],(?:200|201|400|422)$/.test(outcome))).toEqual([]);
    expect(tooLong(turns)).toEqual([]);
  }, 300_000);
});
