import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { CopyButton } from './facts.tsx';
import { Icon } from './icons.tsx';

/** The request as a curl command, quoted for a shell. */
const curl = (request: string): string =>
  `curl -H "Authorization: Bearer $OUTBOX_KEY" '${location.origin}${request.replaceAll("'", '%27')}'`;

/** Shows the API requests behind a screen, to run elsewhere. @param requests paths with their queries. */
export const ApiButton = ({ requests }: { readonly requests: readonly string[] }): JSX.Element => {
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <>
      <button type="button" class="btn" onClick={() => dialog.current?.showModal()}>
        <Icon name="code" />
        API
      </button>
      <dialog ref={dialog} class="dlg wide" aria-label="Requests of this screen">
        <h2>Requests of this screen</h2>
        <p class="two">What it shows comes from these, and any program can ask for the same.</p>
        {requests.map((request) => (
          <div class="curl cp" key={request}>
            <pre>{curl(request)}</pre>
            <CopyButton text={curl(request)} />
          </div>
        ))}
        <form method="dialog" class="acts">
          <button type="submit" class="btn">
            Close
          </button>
        </form>
      </dialog>
    </>
  );
};
