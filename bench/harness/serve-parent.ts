export interface ToChild {
  readonly id: number;
  readonly question: string;
  readonly input: unknown;
}

export type FromChild =
  | { readonly ready: unknown }
  | { readonly id: number; readonly answer?: unknown; readonly error?: string };

export interface ChildService {
  readonly facts: unknown;
  readonly answers: Readonly<Record<string, (input: never) => unknown>>;
  close(): Promise<void>;
}

/** A process that cannot close within this time is ended anyway. */
const CLOSE_MS_MAX = 5_000;

const tell = (message: FromChild): void => {
  process.send?.(message);
};

const answer = async (served: ChildService, { id, question, input }: ToChild): Promise<void> => {
  try {
    tell({ id, answer: await served.answers[question]?.(input as never) }); // parent and child share the types
  } catch (error) {
    tell({ id, error: error instanceof Error ? error.message : String(error) });
  }
};

/**
 * Runs a child process of a benchmark: opens its service, reports that it is ready, answers questions, and ends when
 * the parent is gone.
 */
export const serveParent = async <Input>(open: (input: Input) => Promise<ChildService>): Promise<void> => {
  process.on('SIGINT', () => undefined); // Ctrl-C reaches the whole group, but the parent closes its children in order
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
