// What people call the kinds of jobs and mails; a kind that is not here is called as the ledger calls it.

import { words } from "./dom.js";

const JOBS = {
  send_confirmation_email: "Confirmation mail",
  send_payment_received_email: "Payment mail",
  send_order_cancelled_email: "Cancellation mail",
  send_order_expired_email: "Expiry mail",
  send_refund_email: "Refund mail",
  process_payment: "Payment event",
  generate_invoice_pdf: "Invoice",
  generate_credit_note_pdf: "Credit note",
  expire_order: "Expiry timer",
  close_payments: "Closing of payments",
  send_refund: "Refund",
  reconcile_payments: "Reconciliation",
};

/** The mail that each of these jobs sends. */
export const MAIL_OF = {
  send_confirmation_email: "order_confirmation",
  send_payment_received_email: "payment_received",
  send_order_cancelled_email: "order_cancelled",
  send_order_expired_email: "order_expired",
};

const MAILS = {
  order_confirmation: "Confirmation mail",
  payment_received: "Payment mail",
  order_cancelled: "Cancellation mail",
  order_expired: "Expiry mail",
};

export const INVOICE_JOB = "generate_invoice_pdf";

export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
export const jobName = (type) => JOBS[type] ?? sentence(words(type));
export const mailName = (type) => MAILS[type] ?? sentence(words(type.replace(":", " ")));
