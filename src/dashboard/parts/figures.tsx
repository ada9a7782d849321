import type { ComponentChildren, JSX } from 'preact';

/** A row of large numbers. */
export const Figures = ({ children }: { readonly children: ComponentChildren }): JSX.Element => (
  <dl class="figs">{children}</dl>
);

interface FigureProps {
  readonly name: string;
  readonly value: ComponentChildren;
  /** CSS class of the colour in plots. */
  readonly plot?: string;
  /** Context shown next to the number. */
  readonly children?: ComponentChildren;
}

export const Figure = ({ name, value, plot, children }: FigureProps): JSX.Element => (
  <div>
    <dt>
      {plot !== undefined && <i class={`sw ${plot}`} />}
      {name}
    </dt>
    <dd>
      {value}
      <small>{children ?? '\u00a0'}</small>
    </dd>
  </div>
);
