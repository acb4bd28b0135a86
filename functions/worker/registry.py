"""Every job type and its handler: one typed line each."""

from skincare.app import App
from skincare.jobs.catalog import (
    ClosePayments,
    EraseCustomer,
    ExpireOrder,
    ExportCustomer,
    GenerateCreditNotePdf,
    GenerateInvoicePdf,
    ProcessPayment,
    ReconcilePayments,
    SendConfirmationEmail,
    SendOrderCancelledEmail,
    SendOrderExpiredEmail,
    SendPaymentReceivedEmail,
    SendRefund,
    SendRefundEmail,
)
from skincare.jobs.registry import Registry
from worker.handlers import (
    close_payments,
    erase_customer,
    expire_order,
    export_customer,
    generate_credit_note_pdf,
    generate_invoice_pdf,
    process_payment,
    reconcile_payments,
    send_confirmation_email,
    send_order_cancelled_email,
    send_order_expired_email,
    send_payment_received_email,
    send_refund,
    send_refund_email,
)

REGISTRY: Registry[App] = Registry()
REGISTRY.add(SendConfirmationEmail, send_confirmation_email.handle)
REGISTRY.add(ProcessPayment, process_payment.handle, batch=process_payment.handle_many)
REGISTRY.add(SendPaymentReceivedEmail, send_payment_received_email.handle)
REGISTRY.add(SendOrderCancelledEmail, send_order_cancelled_email.handle)
REGISTRY.add(SendOrderExpiredEmail, send_order_expired_email.handle)
REGISTRY.add(SendRefundEmail, send_refund_email.handle)
REGISTRY.add(GenerateInvoicePdf, generate_invoice_pdf.handle)
REGISTRY.add(GenerateCreditNotePdf, generate_credit_note_pdf.handle)
REGISTRY.add(ExpireOrder, expire_order.handle)
REGISTRY.add(ClosePayments, close_payments.handle)
REGISTRY.add(SendRefund, send_refund.handle)
REGISTRY.add(ReconcilePayments, reconcile_payments.handle)
REGISTRY.add(ExportCustomer, export_customer.handle)
REGISTRY.add(EraseCustomer, erase_customer.handle)
