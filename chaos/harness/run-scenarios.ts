import type { RunOptions } from './arguments.ts';
import { interleaved, shuffled } from './order.ts';
import type { Scenario } from './scenario.ts';
import type { Violation } from './violation.ts';

/** Scenarios mostly wait for leases. More at a time delay each other on two cores; fewer take longer overall. */
const AT_ONCE = 6;
/** Typical duration of a scenario. None is started later than this before the end of a slice. */
const SCENARIO_MS = 50_000;

interface ScenarioResult {
  readonly name: string;
  readonly violations: readonly Violation[];
}

const attempt = async ({ name, run }: Scenario, seed: number): Promise<ScenarioResult> => {
  const beganMs = performance.now();
  const violations = await run(seed).catch((error: unknown): readonly Violation[] => [
    { promise: 'scenario', what: error instanceof Error ? (error.stack ?? error.message) : String(error) },
  ]);
  const seconds = ((performance.now() - beganMs) / 1000).toFixed(1);
  const lines = violations.map(({ promise, what }) => `\n    ${promise}: ${what}`).join('');
  console.log(`${violations.length === 0 ? 'ok    ' : 'BROKEN'} ${name} (${seconds} s)${lines}`);
  return { name, violations };
};

/** @param kinds lists of scenarios, one list per kind. */
const choose = (kinds: readonly (readonly Scenario[])[], { names, sliceMs, seed }: RunOptions): readonly Scenario[] => {
  const isWanted = ({ name }: Scenario): boolean => names.length === 0 || names.some((part) => name.includes(part));
  const wanted = kinds.map((scenarios) => scenarios.filter(isWanted));
  return interleaved(sliceMs === undefined ? wanted : wanted.map((scenarios) => shuffled(scenarios, seed)));
};

/** Runs several scenarios at a time, in order. Those that must run alone come last, one by one. */
const runAll = async (
  scenarios: readonly Scenario[],
  { seed, sliceMs }: RunOptions,
): Promise<readonly ScenarioResult[]> => {
  const endMs = performance.now() + (sliceMs ?? Number.POSITIVE_INFINITY) - SCENARIO_MS;
  const ran: ScenarioResult[] = [];
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

/** Runs the selected scenarios and prints one line for each. @returns the number of failures. */
export const runScenarios = async (kinds: readonly (readonly Scenario[])[], asked: RunOptions): Promise<number> => {
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
