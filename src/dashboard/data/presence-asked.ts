import { createStore } from './store.ts';

/** Some requests need the member to be present (`presence_required`): whichever was refused, the person is asked once. */

/** Who waits for the answer; null: nobody. */
export const presenceAsked = createStore<{ answer(isProven: boolean): void } | null>(null);

let asking: Promise<boolean> | null = null;

/** @returns false: they would rather not. */
export const askForPresence = (): Promise<boolean> => {
  asking ??= new Promise<boolean>((resolve) => presenceAsked.set({ answer: resolve })).finally(() => {
    asking = null;
    presenceAsked.set(null);
  });
  return asking;
};
