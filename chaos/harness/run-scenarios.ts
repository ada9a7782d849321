import type { Asked } from './arguments.ts';
import { interleaved, shuffled } from './order.ts';
import type { Scenario } from './scenario.ts';
import type { Violation } from './violation.ts';

/** Most of a scenario is waiting for leases: more at a time make each other late on two cores, fewer wait longer. */
const AT_ONCE = 6;
/** Of a slice's end: what begins now takes about so long. */
const SCENARIO_MS = 50_000;

interface Ran {
  readonly name: string;
  readonly violations: readonly Violation[];
}

const attempt = async ({ name, run }: Scenario, seed: number): Promise<Ran> => {
  const beganMs = performance.now();
  const violations = await run(seed).catch((error: unknown): readonly Violation[] => [
    { promise: 'scenario', what: error instanceof Error ? (error.stack ?? error.message) : String(error) },
  ]);
  const seconds = ((performance.now() - beganMs) / 1000).toFixed(1);
  const lines = violations.map(({ promise, what }) => `\n    ${promise}: ${what}`).join('');
  console.log(`${violations.length === 0 ? 'ok    ' : 'BROKEN'} ${name} (${seconds} s)${lines}`);
  return { name, violations };
};

/** @param kinds lists of scenarios of one kind each. */
const choose = (kinds: readonly (readonly Scenario[])[], { names, sliceMs, seed }: Asked): readonly Scenario[] => {
  const isWanted = ({ name }: Scenario): boolean => names.length === 0 || names.some((part) => name.includes(part));
  const wanted = kinds.map((scenarios) => scenarios.filter(isWanted));
  return interleaved(sliceMs === undefined ? wanted : wanted.map((scenarios) => shuffled(scenarios, seed)));
};

/** Some at a time, in order; those that want to be alone come last, one by one. */
const runAll = async (scenarios: readonly Scenario[], { seed, sliceMs }: Asked): Promise<readonly Ran[]> => {
  const endMs = performance.now() + (sliceMs ?? Number.POSITIVE_INFINITY) - SCENARIO_MS;
  const ran: Ran[] = [];
  const work = async (queue: Scenario[]): Promise<void> => {
    for (let next = queue.shift(); next !== undefined && performance.now() < endMs; next = queue.shift()) {
      ran.push(await attempt(next, seed));
    }
  };
  const together = scenarios.filter(({ alone }) => alone !== true);
  await Promise.all(Array.from({ length: AT_ONCE }, () => work(together)));
  await work(scenarios.filter(({ alone }) => alone === true));
  return ran;
};

/** Runs what was asked for and says what came of it, a line each. @returns how many are broken. */
export const runScenarios = async (kinds: readonly (readonly Scenario[])[], asked: Asked): Promise<number> => {
  const wanted = choose(kinds, asked);
  const chosen = wanted.filter(({ skipped }) => skipped === undefined);
  for (const { name, skipped } of wanted) if (skipped !== undefined) console.log(`skipped ${name}: ${skipped}`);
  if (wanted.length === 0) throw new Error(`no scenario has one of these in its name: ${asked.names.join(', ')}`);
  console.log(`${chosen.length} scenarios, seed ${asked.seed}`);
  const ran = await runAll(chosen, asked);
  const broken = ran.filter(({ violations }) => violations.length > 0);
  console.log(`\n${ran.length - broken.length} held, ${broken.length} broken, ${chosen.length - ran.length} left out`);
  for (const { name } of broken) console.log(`broken: ${name}`);
  return broken.length;
};
