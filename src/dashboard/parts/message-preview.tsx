import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { urlOf } from '../data/api.ts';
import { session } from '../data/credentials.ts';
import { environmentOf, usePlace } from '../data/location.ts';
import { useStore } from '../data/store.ts';
import { CopyButton } from './facts.tsx';
import { Icon } from './icons.tsx';
import { LooksChoice, MailFrame, useLooks } from './mail-frame.tsx';
import { DownloadSource, MessageText, useContent } from './message-content.tsx';
import { Notice } from './states.tsx';

/**
 * Displays a mail in a document with its own content security policy (`GET /v1/messages/{id}/preview`). The browser
 * requests it, which sends a member's session but cannot send a tab's API key.
 */

const CopyHtml = ({ id }: { readonly id: string }): JSX.Element | null => {
  const html = useContent(id).data?.html ?? null;
  return html === null ? null : <CopyButton text={html} label="Copy the html" />;
};

const Frame = ({ id, isTest }: { readonly id: string; readonly isTest: boolean }): JSX.Element => {
  const looks = useLooks();
  const [hasImages, loadImages] = useState(false);
  const source = urlOf(`/v1/messages/${id}/preview`, {
    images: hasImages ? 'remote' : null,
    environment: isTest ? 'test' : null,
  });
  return (
    <div class="pv">
      <div class="pvbar">
        <LooksChoice looks={looks} />
        <span class="sp" />
        <span class="cp">
          <CopyHtml id={id} />
        </span>
        <DownloadSource id={id} />
      </div>
      <div class="shield">
        <Icon name="shield" />
        {hasImages ? (
          <span>Sealed off: no scripts, no forms. Images are loaded from where they are; our own count no open.</span>
        ) : (
          <>
            <span>
              Sealed off: no scripts, no forms, no network. Remote images are not loaded, so a preview is not recorded
              as an open.
            </span>
            <button type="button" class="lnk" onClick={() => loadImages(true)}>
              Load images
            </button>
          </>
        )}
      </div>
      <div class="stage">
        <MailFrame source={source} looks={looks} title="The mail" />
      </div>
    </div>
  );
};

export const MessagePreview = ({ id }: { readonly id: string }): JSX.Element => {
  const environment = environmentOf(usePlace());
  if (useStore(session)) return <Frame id={id} isTest={environment === 'test'} />;
  return (
    <div class="stack aside">
      <Notice tone="mute" state="accepted">
        <b>A preview needs a member’s session.</b> It is a sealed document of its own, which cannot be given the API key
        of this tab. <code>GET /v1/messages/{'{id}'}/preview</code> gives it to any program with a key. This is its
        text:
      </Notice>
      <MessageText id={id} />
    </div>
  );
};
