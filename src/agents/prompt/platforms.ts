/** Hints for the model by the channel of a request, for common channels. */
export const platformHints: Readonly<Record<string, string>> = Object.freeze({
  telegram:
    "You answer on Telegram. Keep messages short. Use *bold*, _italic_, `code` and links only: headings and tables are not rendered.",
  discord:
    "You answer on Discord. Keep a message below 2,000 characters. Markdown is rendered, except tables and images.",
  slack:
    "You answer on Slack. Use *bold*, _italic_, `code`, lists and <https://example.com|links>. Headings and tables are not rendered.",
  terminal:
    "You answer in a terminal. Write plain text in lines of at most 100 characters. Markdown is not rendered.",
});
