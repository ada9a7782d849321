/** Bundled beside the code that imports it. */
declare module '*.css';
