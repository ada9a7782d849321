import { setTimeout as sleep } from 'node:timers/promises';
import type { AnswerCheck } from '../../support/openapi/answer-check.ts';
import { type FuzzRequest, type Material, makeRequest } from './make-request.ts';
import { createRandom } from './random.ts';
import type { FuzzAnswer, Sender } from './send-request.ts';

/** A request with a forbidden response. */
interface Finding {
  readonly number: number;
  readonly problems: readonly string[];
  readonly request: string;
  readonly answer: string;
}

export interface Campaign {
  readonly findings: readonly Finding[];
  /** Number of responses with each status. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly seconds: number;
}

export interface CampaignOptions {
  readonly material: Material;
  readonly sender: Sender;
  readonly check: AnswerCheck;
  readonly seed: number;
  readonly count: number;
  readonly concurrency: number;
  /** Number of the only request to run, for debugging. */
  readonly only: number | null;
}

type Count = (status: string) => void;

const FINDINGS_MAX = 30;
/** Fewer: a busy machine that pauses for seconds fails the test. More: a request that always gets a 503 takes longer. */
const TRIES_MAX = 30;
const SHOWN_CHARACTERS = 1_500;
/** Spreads consecutive seeds, so that they generate unrelated requests. */
const SPREAD = 0x9e3779b1;

const shown = ({ method, path, headers, body }: FuzzRequest): string =>
  JSON.stringify({ method, path, headers, body: body?.toString().slice(0, SHOWN_CHARACTERS) });

const MADE = new Set([201, 202]);

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

const MS_PER_SECOND = 1_000;

/**
 * The response to a request. After a 503 the request is repeated, each time after the given delay: a machine that is
 * busy for some seconds is no defect.
 */
const answerTo = async (asked: FuzzRequest, { sender, check }: CampaignOptions, count: Count): Promise<FuzzAnswer> => {
  for (let tries = 1; ; tries += 1) {
    const answer = await sender.send(asked);
    const isOver = answer.status !== 503 || check({ ...asked, ...answer }).length > 0;
    if (isOver || tries === TRIES_MAX) return answer;
    // Once for each request: how often it is repeated depends on the machine.
    if (tries === 1) count('503, asked again');
    await sleep(Number(answer.headers.get('retry-after')) * MS_PER_SECOND);
  }
};

const problemsOf = (asked: FuzzRequest, answer: FuzzAnswer, check: AnswerCheck): readonly string[] => [
  ...(answer.status >= 500 ? [`it failed with ${answer.status}`] : []),
  ...check({ method: asked.method, path: asked.path, ...answer }),
];

/** Sends `count` random requests, `concurrency` at a time, and collects the forbidden responses. */
export const runCampaign = async (options: CampaignOptions): Promise<Campaign> => {
  const { material, check, seed, count, concurrency, only } = options;
  const findings: Finding[] = [];
  const statuses: Record<string, number> = {};
  const began = performance.now();
  let next = only ?? 0;
  const end = only === null ? count : only + 1;

  const tally: Count = (status) => {
    statuses[status] = (statuses[status] ?? 0) + 1;
  };

  const sendOne = async (number: number): Promise<void> => {
    const asked = makeRequest(material, createRandom(seed + Math.imul(number, SPREAD)));
    const told = (problems: readonly string[], answer: string): void => {
      findings.push({ number, problems, request: shown(asked), answer: answer.slice(0, SHOWN_CHARACTERS) });
    };
    try {
      const answer = await answerTo(asked, options, tally);
      tally(String(answer.status));
      const problems = problemsOf(asked, answer, check);
      if (problems.length > 0) told(problems, `${answer.status} ${answer.text}`);
      material.known.learn(parsed(answer.text), MADE.has(answer.status));
    } catch (error) {
      tally('none');
      told([String(error)], 'none');
    }
  };

  const worker = async (): Promise<void> => {
    while (next < end && findings.length < FINDINGS_MAX) await sendOne(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return { findings, statuses, seconds: (performance.now() - began) / 1_000 };
};
