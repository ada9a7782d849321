import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Closers } from '../../src/composition/lifecycle.ts';
import type { FromChild, ToChild } from './serve-parent.ts';

/** A child process, which ends with the run however that ends. */
export interface Child<Facts> {
  readonly pid: number;
  /** Facts that the process reported when it was ready. */
  readonly facts: Facts;
  ask<Answer>(question: string, input?: unknown): Promise<Answer>;
}

export interface ChildOptions {
  /** Name of `bench/processes/<name>.ts`. */
  readonly name: string;
  /** JSON input. */
  readonly input?: unknown;
  /** Arguments for Node itself. */
  readonly execArgv?: readonly string[];
  /** Additional environment variables. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** Starting takes about a second; a process that takes this long is stuck. */
const READY_MS = 30_000;

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

export const openChild = async <Facts>(closers: Closers, options: ChildOptions): Promise<Child<Facts>> => {
  const entry = fileURLToPath(new URL(`../processes/${options.name}.ts`, import.meta.url));
  const child = fork(entry, [JSON.stringify(options.input ?? null)], {
    execArgv: [...(options.execArgv ?? [])],
    env: { ...process.env, ...options.variables },
  });
  const waiting = new Map<number, Waiting>();
  const ready = Promise.withResolvers<Facts>();
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let asked = 0;

  const fail = (error: Error): void => {
    ready.reject(error);
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  const settle = ({ id, answer, error }: Extract<FromChild, { id: number }>): void => {
    const one = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) one?.resolve(answer);
    else one?.reject(new Error(`${options.name}: ${error}`));
  };
  child.on('message', (message: FromChild) => {
    if ('ready' in message) ready.resolve(message.ready as Facts);
    else settle(message);
  });
  child.once('exit', (code) => fail(new Error(`${options.name} ended with ${code}`)));
  const timer = setTimeout(() => fail(new Error(`${options.name} is not ready in ${READY_MS} ms`)), READY_MS);

  closers.add(options.name, async () => {
    if (child.connected) child.disconnect();
    await ended;
  });
  const facts = await ready.promise.finally(() => clearTimeout(timer));

  return {
    pid: child.pid ?? 0,
    facts,
    ask: <Answer>(question: string, input: unknown = null) =>
      new Promise<Answer>((resolve, reject) => {
        asked += 1;
        waiting.set(asked, { resolve: (answer) => resolve(answer as Answer), reject });
        child.send({ id: asked, question, input } satisfies ToChild, (error) => {
          if (error !== null) reject(error);
        });
      }),
  };
};
