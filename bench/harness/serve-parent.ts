export interface ToChild {
  readonly id: number;
  readonly question: string;
  readonly input: unknown;
}

export type FromChild =
  | { readonly ready: unknown }
  | { readonly id: number; readonly answer?: unknown; readonly error?: string };

export interface Served {
  readonly facts: unknown;
  readonly answers: Readonly<Record<string, (input: never) => unknown>>;
  close(): Promise<void>;
}

/** After this a process that cannot close ends all the same. */
const CLOSE_MS_MAX = 5_000;

const tell = (message: FromChild): void => {
  process.send?.(message);
};

const answer = async (served: Served, { id, question, input }: ToChild): Promise<void> => {
  try {
    tell({ id, answer: await served.answers[question]?.(input as never) }); // both ends are ours
  } catch (error) {
    tell({ id, error: error instanceof Error ? error.message : String(error) });
  }
};

/** What a process of the run does: opens itself, says that it is ready, answers, and ends when its parent is gone. */
export const serveParent = async <Input>(open: (input: Input) => Promise<Served>): Promise<void> => {
  process.on('SIGINT', () => undefined); // Ctrl-C goes to the whole group: the parent closes us in its order
  const served = await open(JSON.parse(process.argv[2] ?? 'null') as Input);
  process.on('message', (message: ToChild) => void answer(served, message));
  process.once('disconnect', () => {
    setTimeout(() => process.exit(1), CLOSE_MS_MAX).unref();
    served.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
  tell({ ready: served.facts });
};
