"""The products of the demonstration shop."""

from local.repository import SeedProduct

PRODUCTS = (
    SeedProduct("CLEANSER-RICE-100", "Gentle Rice Water Cleanser 100 ml", 89_000, 120),
    SeedProduct("TONER-CICA-150", "Centella Calming Toner 150 ml", 119_000, 80),
    SeedProduct("ESSENCE-RICE-120", "Fermented Rice Essence 120 ml", 159_000, 45),
    SeedProduct("SERUM-NIA-30", "Niacinamide 10% Serum 30 ml", 129_000, 200),
    SeedProduct("SERUM-VITC-20", "Vitamin C Glow Serum 20 ml", 175_000, 60),
    SeedProduct("SERUM-RETINOL-30", "Granactive Retinol Night Serum 30 ml", 189_000, 35),
    SeedProduct("MOIST-CERA-50", "Ceramide Barrier Cream 50 ml", 149_000, 90),
    SeedProduct("GEL-ALOE-200", "Aloe Vera Soothing Gel 200 ml", 59_000, 300),
    SeedProduct("SUN-SPF50-50", "Daily Sunscreen SPF 50 PA++++ 50 ml", 99_000, 250),
    SeedProduct("MASK-CLAY-75", "Volcanic Clay Mask 75 g", 85_000, 70),
    SeedProduct("PEEL-AHA-30", "AHA BHA Weekly Peel 30 ml", 139_000, 40),
    SeedProduct("LIP-BALM-10", "Shea Lip Balm 10 g", 39_000, 500),
    SeedProduct("OIL-ROSEHIP-30", "Cold-pressed Rosehip Oil 30 ml", 165_000, 25),
    SeedProduct("SET-LEBARAN-4", "Lebaran Gift Set, four pieces", 399_000, 1),
    SeedProduct("MIST-ROSE-100", "Damask Rose Face Mist 100 ml", 79_000, 0),
)
