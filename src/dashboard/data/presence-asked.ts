import { createStore } from './store.ts';

/**
 * Some requests need proof that the member is present (`presence_required`). Concurrent rejections share one prompt.
 */

/** Receives the answer to the open prompt; null: no prompt is open. */
export const presenceAsked = createStore<{ answer(isProven: boolean): void } | null>(null);

let asking: Promise<boolean> | null = null;

/** @returns false if the member cancels. */
export const askForPresence = (): Promise<boolean> => {
  asking ??= new Promise<boolean>((resolve) => presenceAsked.set({ answer: resolve })).finally(() => {
    asking = null;
    presenceAsked.set(null);
  });
  return asking;
};
