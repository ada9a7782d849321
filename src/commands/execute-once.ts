import { DomainError } from '../domain/domain-error.ts';
import type { OutboxEvent } from '../domain/events.ts';
import type { CommandContext } from './context.ts';
import { type Executed, type Execution, execute, type Loaded } from './execute.ts';

/**
 * As `execute`, but at the very revision that is known.
 * @returns null when somebody else has written there meanwhile: what the decision went by has to be gathered again.
 */
export const executeOnce = async <State, E extends OutboxEvent>(
  context: Pick<CommandContext, 'store' | 'system'>,
  execution: Omit<Execution<State, E>, 'atRevisions'> & { readonly known: Loaded<State> },
): Promise<Executed<State, E> | null> => {
  const { revision } = execution.known;
  try {
    return await execute(context, { ...execution, atRevisions: revision === 'no-stream' ? [] : [revision] });
  } catch (error) {
    if (error instanceof DomainError && error.code === 'precondition_failed') return null;
    throw error;
  }
};
