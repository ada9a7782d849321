import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon } from './icons.tsx';

/**
 * A mail as it looks: a document of its own with a policy of its own, which the browser asks for by itself. It sends the
 * session of a member and cannot send the API key of a tab.
 */

/** More than `allow-popups`, with which links open, is never given. */
const SANDBOX = 'allow-popups allow-popups-to-escape-sandbox';

interface ChoiceProps {
  readonly legend: string;
  /** Both words of it. */
  readonly words: readonly [off: ComponentChildren, on: ComponentChildren];
  readonly isOn: boolean;
  choose(isOn: boolean): void;
}

const Choice = ({ legend, words, isOn, choose }: ChoiceProps): JSX.Element => (
  <fieldset class="seg">
    <legend class="vh">{legend}</legend>
    {words.map((word, index) => (
      <button key={index} type="button" aria-pressed={isOn === (index === 1)} onClick={() => choose(index === 1)}>
        {word}
      </button>
    ))}
  </fieldset>
);

const WIDTHS = [
  <>
    <Icon name="desktop" />
    Desktop
  </>,
  <>
    <Icon name="phone" />
    Phone
  </>,
] as const;

/** Where the screen itself is one of a phone. */
const IS_PHONE = '(max-width: 760px)';

/** How a mail is looked at. */
export interface Looks {
  readonly isPhone: boolean;
  readonly isDark: boolean;
  choose(looks: Partial<Pick<Looks, 'isPhone' | 'isDark'>>): void;
}

export const useLooks = (): Looks => {
  const [looks, setLooks] = useState({ isPhone: matchMedia(IS_PHONE).matches, isDark: false });
  return { ...looks, choose: (chosen) => setLooks((before) => ({ ...before, ...chosen })) };
};

export const LooksChoice = ({ looks }: { readonly looks: Looks }): JSX.Element => (
  <>
    <Choice legend="Width" words={WIDTHS} isOn={looks.isPhone} choose={(isPhone) => looks.choose({ isPhone })} />
    <Choice
      legend="Mail colours"
      words={['Light', 'Dark']}
      isOn={looks.isDark}
      choose={(isDark) => looks.choose({ isDark })}
    />
  </>
);

/** Pixels. Mails are written for about as much; where there is less room for it, one is shown smaller, not cut off. */
const DESKTOP_WIDTH = 640;

/** How much smaller than it is a mail is to be shown within an element. */
const useFit = () => {
  const within = useRef<HTMLDivElement>(null);
  const [fit, setFit] = useState(1);
  useLayoutEffect(() => {
    const element = within.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setFit(Math.min(1, element.clientWidth / DESKTOP_WIDTH) || 1));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { within, fit };
};

interface FrameProps {
  readonly source: string;
  /** Of what is behind the source: another one is loaded behind the one that is shown, and then takes its place. */
  readonly revision?: string;
  readonly looks: Pick<Looks, 'isPhone' | 'isDark'>;
  readonly title: string;
}

export const MailFrame = ({ source, revision = '', looks, title }: FrameProps): JSX.Element => {
  const wanted = `${source} ${revision}`;
  const [shown, show] = useState(wanted);
  const frames = shown === wanted ? [wanted] : [shown, wanted];
  const look = `mail ${looks.isPhone ? 'phone' : ''} ${looks.isDark ? 'dark' : ''}`;
  const { within, fit } = useFit();
  return (
    <div class="mails" ref={within} style={{ '--fit': String(fit) }}>
      {frames.map((name) => (
        <iframe
          key={name}
          class={`${look} ${name === shown ? '' : 'behind'}`}
          title={title}
          sandbox={SANDBOX}
          src={name.slice(0, name.indexOf(' '))}
          onLoad={() => show(name)}
          {...(name !== shown && { 'aria-hidden': 'true', tabIndex: -1 })}
        />
      ))}
    </div>
  );
};
