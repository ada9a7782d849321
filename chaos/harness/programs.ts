import { setTimeout as sleep } from 'node:timers/promises';
import { type Program, startProgram } from '../../test/support/program.ts';
import type { Disturbances } from './disturbances.ts';

export type Environment = Readonly<Record<string, string>>;

/** The programs under test by name: one process with all roles, or several with some each. */
export interface Programs {
  readonly names: readonly string[];
  /** Starts the named programs, or all that are not running. @param more extra settings for this run. */
  start(more?: Environment, ...names: readonly string[]): Promise<void>;
  /** Starts a program that is meant to die. @returns true if it became ready first. */
  startToDie(more: Environment, name?: string): Promise<boolean>;
  /** The running program. @throws {Error} if it is not running. */
  running(name?: string): Program;
  /** Sends SIGKILL and returns at once; `died` waits for the end. */
  kill(name?: string): void;
  /** Waits until the program has died of SIGKILL. @throws {Error} on time-out or any other end. */
  died(name?: string, timeoutMs?: number): Promise<void>;
  /** Address of the API. @throws {Error} with the program's last output if none is running. */
  baseUrl(): string;
  /** The output of all runs. */
  output(): string;
  /** Ends all programs and waits for them. */
  end(signal: NodeJS.Signals): Promise<void>;
}

export interface ProgramsOptions {
  readonly dataDir: string;
  /** Settings by program name. */
  readonly environments: Readonly<Record<string, Environment>>;
  readonly disturbances: Disturbances;
}

const DIED_MS = 60_000;
const LOOK_MS = 10;
/** Length of the output shown when a program ends unexpectedly. */
const OUTPUT_TAIL = 4_000;

const hasEnded = ({ child }: Program): boolean => child.exitCode !== null || child.signalCode !== null;

/** `ended with null` means that a signal ended the program before it was ready. */
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
      throw new Error(`program ${name} exited unexpectedly (${program.child.exitCode}):\n${program.output()}`);
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
