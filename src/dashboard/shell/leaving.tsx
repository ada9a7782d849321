import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { leaving } from '../data/location.ts';
import { useStore } from '../data/store.ts';

/** Asks before a screen with unsaved input is left. */
export const LeaveDialog = (): JSX.Element => {
  const move = useStore(leaving);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (move !== null) dialog.current?.showModal();
  }, [move]);
  const leave = (): void => {
    dialog.current?.close();
    move?.go();
  };
  return (
    <dialog ref={dialog} class="dlg" aria-label="Leave without saving?" onClose={() => leaving.set(null)}>
      {move !== null && (
        <>
          <h2>Leave without saving?</h2>
          <p class="two">What you typed on this page is not saved yet.</p>
          <div class="acts">
            <button type="button" class="btn danger" onClick={leave}>
              Leave
            </button>
            <button type="button" class="btn primary" onClick={() => dialog.current?.close()}>
              Stay
            </button>
          </div>
        </>
      )}
    </dialog>
  );
};
