import { setTimeout as sleep } from 'node:timers/promises';
import { type Program, startProgram } from '../../test/support/program.ts';
import type { Disturbances } from './disturbances.ts';

export type Environment = Readonly<Record<string, string>>;

/** The program under test: one process with all roles, or several with some each, by name. */
export interface Programs {
  readonly names: readonly string[];
  /** Starts the named ones, or all that do not run. @param more settings for this run of them. */
  start(more?: Environment, ...names: readonly string[]): Promise<void>;
  /** As `start`, of one that is to die on its way or later. @returns whether it became ready. */
  startToDie(more: Environment, name?: string): Promise<boolean>;
  /** The one that runs. @throws {Error} none does. */
  running(name?: string): Program;
  /** SIGKILL. @returns at once: call `died` to wait. */
  kill(name?: string): void;
  /** Waits until it has ended by SIGKILL. @throws {Error} not in time, or otherwise. */
  died(name?: string, timeoutMs?: number): Promise<void>;
  /** Where the API listens. @throws {Error} none runs, or it ended by itself: with what it printed last. */
  baseUrl(): string;
  /** Everything printed by all runs. */
  output(): string;
  /** Ends all, and waits. */
  end(signal: NodeJS.Signals): Promise<void>;
}

export interface ProgramsOptions {
  readonly dataDir: string;
  /** Settings of each by its name. */
  readonly environments: Readonly<Record<string, Environment>>;
  readonly disturbances: Disturbances;
}

const DIED_MS = 60_000;
const LOOK_MS = 10;
/** Characters of what a program printed that tell why it ended. */
const OUTPUT_TAIL = 4_000;

const hasEnded = ({ child }: Program): boolean => child.exitCode !== null || child.signalCode !== null;

/** `ended with null`: a signal ended it before it was ready. */
const diedEarly = (error: unknown): boolean => error instanceof Error && /^ended with null /.test(error.message);

export const createPrograms = ({ dataDir, environments, disturbances }: ProgramsOptions): Programs => {
  const names = Object.keys(environments);
  const first = names[0] ?? '';
  const programs = new Map<string, Program | 'died early'>();
  const outputs: (() => string)[] = [];

  const isUp = (name: string): boolean => {
    const program = programs.get(name);
    return program !== undefined && program !== 'died early' && !hasEnded(program);
  };

  const startOne = async (name: string, more: Environment): Promise<void> => {
    const program = await startProgram({ dataDir, env: { ...environments[name], ...more } });
    programs.set(name, program);
    outputs.push(program.output);
  };

  const startOneToDie = async (name: string, more: Environment): Promise<boolean> => {
    try {
      await startOne(name, more);
      return true;
    } catch (error) {
      if (!diedEarly(error)) throw error;
      programs.set(name, 'died early');
      disturbances.now(`${name} was killed before it was ready`);
      return false;
    }
  };

  const running = (name = first): Program => {
    const program = programs.get(name);
    if (program === undefined || program === 'died early') throw new Error(`program ${name} was not started`);
    return program;
  };

  const waitForEnd = async (name: string, timeoutMs: number): Promise<void> => {
    const program = running(name);
    const endMs = performance.now() + timeoutMs;
    while (!hasEnded(program)) {
      if (performance.now() > endMs) throw new Error(`program ${name} is still alive`);
      await sleep(LOOK_MS);
    }
    if (program.child.signalCode !== 'SIGKILL') {
      throw new Error(`program ${name} ended by itself (${program.child.exitCode}):\n${program.output()}`);
    }
  };

  return {
    names,
    start: async (more = {}, ...wanted) => {
      const missing = (wanted.length > 0 ? wanted : names).filter((name) => !isUp(name));
      await Promise.all(missing.map((name) => startOne(name, more)));
    },
    startToDie: (more, name = first) => startOneToDie(name, more),
    running,
    kill: (name = first) => {
      running(name).child.kill('SIGKILL');
      disturbances.now(`${name} was killed`);
    },
    died: async (name = first, timeoutMs = DIED_MS) => {
      if (programs.get(name) === 'died early') return;
      await waitForEnd(name, timeoutMs);
      disturbances.now(`${name} died`);
    },
    baseUrl: () => {
      const found = [...programs.values()].find((each) => each !== 'died early' && each.baseUrl !== '');
      if (found === undefined || found === 'died early') throw new Error('no API is running');
      const { exitCode } = found.child;
      if (exitCode !== null) throw new Error(`the API ended (${exitCode}):\n${found.output().slice(-OUTPUT_TAIL)}`);
      return found.baseUrl;
    },
    output: () => outputs.map((output) => output()).join('\n'),
    end: async (signal) => {
      const up = [...programs.values()].filter((each) => each !== 'died early');
      await Promise.all(up.map((program) => program.end(signal)));
    },
  };
};
