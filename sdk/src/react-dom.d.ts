/** Optional: only messages with `react` need it. */
declare module 'react-dom/server' {
  export const renderToStaticMarkup: (element: unknown) => string;
}
